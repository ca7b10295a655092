package run

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

//go:embed recipes.json
var recipesFile []byte

// Recipe is a published setting of a model and its training. A recipe names no data.
type Recipe struct {
	Name    string          `json:"name"`
	Source  string          `json:"source"`
	Differs string          `json:"differs"` // from the source
	Options json.RawMessage `json:"options"` // a file of options
}

// Recipes returns the shipped recipes.
func Recipes() (list []Recipe) {
	if err := json.Unmarshal(recipesFile, &list); err != nil {
		panic(err) // TestRecipes
	}
	return list
}

// RecipeNames returns the names of the shipped recipes.
func RecipeNames() []string {
	var names []string
	for _, r := range Recipes() {
		names = append(names, r.Name)
	}
	return names
}

// ReadRecipe reads a shipped recipe, or a file of options.
func ReadRecipe(ctx context.Context, name string) (*File, error) {
	for _, r := range Recipes() {
		if r.Name == name {
			return Parse("recipe "+name, r.Options)
		}
	}
	if _, err := os.Stat(name); err != nil && filepath.Ext(name) != ".json" {
		known := RecipeNames()
		return nil, &OptionError{Option: "recipe", Err: fmt.Errorf("--recipe %q%s; there are: %s; or name a JSON file of options", name, DidYouMean(name, known), strings.Join(known, ", "))}
	}
	return ReadFile(ctx, name)
}

// Files reads the recipe and the file of options; nil: none.
func (o *Output) Files(ctx context.Context) (recipe, file *File, err error) {
	if o.Recipe != "" {
		recipe, err = ReadRecipe(ctx, o.Recipe)
	}
	if err == nil && o.Config != "" {
		file, err = ReadFile(ctx, o.Config)
	}
	return recipe, file, err
}
