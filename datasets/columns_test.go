package datasets

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// writeTables writes an edge list and a table of people whose columns have names and an order
// of their own. The same graph in the reader's own form is in plain.csv, kinds.csv and ages.csv.
func writeTables(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	var friends, people, plain, kinds, ages strings.Builder
	friends.WriteString("# exported\nsince;to_user;strength;from_user\r\n")
	people.WriteString("age,team,\"full, name\",userId\n")
	kinds.WriteString("id,label\n")
	ages.WriteString("id,age\n")
	names := []string{"ann", "bob", "carol, jr", "dan"}
	for k, name := range names {
		next := names[(k+1)%len(names)]
		friends.WriteString("2020-01-0" + string('1'+rune(k)) + ";" + next + ";0.5;" + name + "\r\n")
		plain.WriteString(name + ";" + next + ";0.5\n")
		quoted := "\"" + name + "\""
		people.WriteString([]string{"30", "41", "52", "63"}[k] + "," + []string{"red", "", "blue", "red"}[k] + ",x," + quoted + "\n")
		kinds.WriteString(quoted + "," + []string{"red", "", "blue", "red"}[k] + "\n")
		ages.WriteString(quoted + "," + []string{"30", "41", "52", "63"}[k] + "\n")
	}
	for name, text := range map[string]*strings.Builder{"friends.csv": &friends, "people.csv": &people, "plain.csv": &plain, "kinds.csv": &kinds, "ages.csv": &ages} {
		write(t, name, []byte(text.String()))
	}
}

// TestColumns checks that columns picked by name are read as a file that has only these.
func TestColumns(t *testing.T) {
	writeTables(t)
	const split = "&split=34/33/33&normalize=none"
	want := open(t, "edges:plain.csv?weights=1&labels=kinds.csv&features=ages.csv"+split)
	got := open(t, "edges:friends.csv?columns=from_user,to_user,strength&weights=1&labels=people.csv&labels-columns=userId,team&features=people.csv&features-columns=userId,age"+split)
	sameData(t, got, want)
	if diff := cmp.Diff(namesOf(want), namesOf(got)); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	if notes := strings.Join(got.Notes, "; "); !strings.Contains(notes, `ids in from_user and to_user, weights in strength, left out: since (such as "2020-01-01"); header in line 2`) {
		t.Errorf("notes %s", notes)
	}
	write(t, "short.csv", []byte("a,b,c\n0,x,1\n2,x\n"))
	write(t, "three.csv", []byte("a,b,c,d\n0,1,5,6\n1,2,5,6\n"))
	write(t, "twice.csv", []byte("a,b,a\n0,x,1\n2,x,1\n"))
	for spec, says := range map[string]string{
		"edges:friends.csv?columns=from,to_user":                                     `friends.csv: no column "from"; the first line has "since, to_user, strength, from_user"`,
		"edges:friends.csv?columns=to_user,to_user":                                  `column "to_user" is named twice`,
		"edges:plain.csv?weights=1&labels-columns=userId,team":                       "give labels=FILE too",
		"edges:plain.csv?weights=1&features=x.npy&features-columns=a":                "x.npy: it has no columns with names",
		"edges:friends.csv?columns=from_user,to_user&header=0":                       `"from_user" needs a header`,
		"edges:twice.csv?columns=a,b":                                                `two columns "a"`,
		"edges:short.csv?columns=a,c":                                                `short.csv:3: "2,x" has 2 fields, and the first line of data has 3`,
		"edges:plain.csv?weights=1&labels=people.csv&labels-columns=userId,age,team": `people.csv:2: column 1 (age), node "ann": "30", want 0, 1 or nothing`,
		"edges:plain.csv?weights=1&labels=people.csv&labels-columns=team":            `labels-columns names one column, ["team"]`,
		"edges:plain.csv?weights=1&labels=people.csv&labels-header=1":                "name the column of the ids by labels-columns=ID",
		"edges:three.csv?header=1&weights=1":                                         "columns=FROM,TO,WEIGHT",
		"edges:plain.csv?weights=1&features=people.csv&features-columns=userId,shoe": `no column "shoe"`,
	} {
		expectError(t, spec, says)
	}
}

// TestColumnsOfIDs checks that a column such as user_id is taken as the node id, and that it
// is not where it can be a node's name.
func TestColumnsOfIDs(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "numbers.csv", []byte("user_id,friend_id\n0,1\n1,2\n2,0\n"))
	write(t, "x.csv", []byte("user_id,a,b\n2,5,6\n0,1,2\n1,3,4\n"))
	write(t, "y.csv", []byte("user_id,label\n0,1\n1,0\n2,1\n"))
	write(t, "names.csv", []byte("user_id,friend_id\nann,bob\nbob,carol\n"))
	write(t, "kinds.csv", []byte("user_id,team\nann,red\nbob,blue\ncarol,red\n"))
	write(t, "ends.csv", []byte("a_id,b_id\nb_id,c_id\nc_id,d_id\n"))
	d := open(t, "edges:numbers.csv?features=x.csv&labels=y.csv&split=34/33/33&normalize=none")
	if d.Features.Cols != 2 || d.Features.Data[0] != 1 || d.Features.Data[4] != 5 {
		t.Errorf("features %v", d.Features)
	}
	d = open(t, "edges:names.csv?labels=kinds.csv&split=34/33/33")
	if diff := cmp.Diff([]string{"ann", "bob", "carol"}, namesOf(d)); diff != "" {
		t.Error(diff)
	}
	write(t, "teams.csv", []byte("a_id,red\nb_id,blue\nc_id,red\nd_id,red\n"))
	if d := open(t, "edges:ends.csv?labels=teams.csv&split=34/33/33"); d.Nodes() != 4 {
		t.Errorf("%d nodes, want 4: %q", d.Nodes(), namesOf(d))
	}
}

// TestSpelling checks that names which no edge has are an error if there are no others, and a
// note else, and that numbers with a fraction are noted.
func TestSpelling(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "e.csv", []byte("source,target\nann,bob\nbob,carol\ncarol,ann\n"))
	write(t, "upper.csv", []byte("id,team\nANN,red\nBOB,blue\n"))
	write(t, "more.csv", []byte("id,score\nann,0.5\nbob,1\ncarol,0.25\neve,1\n"))
	expectError(t, "edges:e.csv?labels=upper.csv", `e.csv:1: "source, target" is a header, or data`, `no other file has its ids "ann"`)
	expectError(t, "edges:e.csv?header=1&labels=upper.csv&labels-columns=id,team", `upper.csv: none of its ids has an edge in e.csv: it has "ANN", "BOB", and the edges "`)
	notes := strings.Join(open(t, "edges:e.csv?labels=more.csv&split=34/33/33").Notes, "; ")
	for _, want := range []string{`1 of the 4 ids in more.csv have no edge: "eve"`, "warning: 3 classes for 4 nodes: each value is a class of its own, there is no regression"} {
		if !strings.Contains(notes, want) {
			t.Errorf("%s\nlacks %s", notes, want)
		}
	}
}
