package gcn_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// manifest returns the first block of a language in docs/distributed.md that holds sign.
func manifest(t *testing.T, language, sign string) string {
	t.Helper()
	page, err := os.ReadFile("docs/distributed.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```").FindAllStringSubmatch(string(page), -1) {
		if strings.Contains(block[1], sign) {
			return block[1]
		}
	}
	t.Fatalf("docs/distributed.md has no block of %s with %s", language, sign)
	return ""
}

// TestSLURMScript checks the batch script: its shell, its options with SLURM's own parser if
// it is installed, and that a rank gets the cores that the job asks for.
func TestSLURMScript(t *testing.T) {
	script := manifest(t, "sh", "#SBATCH")
	path := filepath.Join(t.TempDir(), "job.sh")
	if err := os.WriteFile(path, []byte(script), 0o666); err != nil {
		t.Fatal(err)
	}
	cores := regexp.MustCompile(`--cpus-per-task=(\d+)`).FindAllStringSubmatch(script, -1)
	if len(cores) != 2 || cores[0][1] != cores[1][1] {
		t.Errorf("srun does not ask for the cores of the job: %v", cores)
	}
	if out, err := exec.Command("sh", "-n", path).CombinedOutput(); errors.Is(err, exec.ErrNotFound) {
		t.Skip("there is no shell")
	} else if err != nil {
		t.Errorf("%v: %s", err, out)
	}
	if _, err := exec.LookPath("sbatch"); err != nil {
		t.Skip("sbatch is not installed (Debian: slurm-client)")
	}
	// Without a controller sbatch reads the options, and then cannot connect. It exits with
	// 255 if an option is wrong.
	config := filepath.Join(t.TempDir(), "slurm.conf")
	if err := os.WriteFile(config, []byte("ClusterName=test\nSlurmctldHost=localhost\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	sbatch := exec.Command("sbatch", "--test-only", path)
	sbatch.Env = append(os.Environ(), "SLURM_CONF="+config)
	out, _ := sbatch.CombinedOutput()
	if code := sbatch.ProcessState.ExitCode(); code != 0 && code != 1 {
		t.Errorf("exit code %d: %s", code, out)
	}
}

// mpiJob has the fields of kubeflow.org/v2beta1 that the manifest uses. A name that the
// schema does not have is an error.
type mpiJob struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string `yaml:"kind"`
	Metadata   struct {
		Name string `yaml:"name"`
	} `yaml:"metadata"`
	Spec struct {
		MPIImplementation string `yaml:"mpiImplementation"`
		SlotsPerWorker    int    `yaml:"slotsPerWorker"`
		SSHAuthMountPath  string `yaml:"sshAuthMountPath"`
		RunPolicy         struct {
			CleanPodPolicy string `yaml:"cleanPodPolicy"`
		} `yaml:"runPolicy"`
		MPIReplicaSpecs struct {
			Launcher replicas `yaml:"Launcher"`
			Worker   replicas `yaml:"Worker"`
		} `yaml:"mpiReplicaSpecs"`
	} `yaml:"spec"`
}

type replicas struct {
	Replicas int `yaml:"replicas"`
	Template struct {
		Spec struct {
			Containers []struct {
				Name            string   `yaml:"name"`
				Image           string   `yaml:"image"`
				Command         []string `yaml:"command"`
				SecurityContext struct {
					RunAsUser int `yaml:"runAsUser"`
				} `yaml:"securityContext"`
				Resources struct {
					Limits map[string]string `yaml:"limits"`
				} `yaml:"resources"`
				VolumeMounts []struct {
					Name      string `yaml:"name"`
					MountPath string `yaml:"mountPath"`
				} `yaml:"volumeMounts"`
			} `yaml:"containers"`
			Volumes []volume `yaml:"volumes"`
		} `yaml:"spec"`
	} `yaml:"template"`
}

type volume struct {
	Name                  string `yaml:"name"`
	PersistentVolumeClaim struct {
		ClaimName string `yaml:"claimName"`
	} `yaml:"persistentVolumeClaim"`
}

// TestMPIJob checks the manifest of Kubeflow's MPI operator.
func TestMPIJob(t *testing.T) {
	text := manifest(t, "yaml", "kind: MPIJob")
	var job mpiJob
	decoder := yaml.NewDecoder(strings.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(&job); err != nil {
		t.Fatal(err)
	}
	s := job.Spec
	if job.APIVersion != "kubeflow.org/v2beta1" || job.Kind != "MPIJob" || !regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`).MatchString(job.Metadata.Name) {
		t.Errorf("%s %s %q", job.APIVersion, job.Kind, job.Metadata.Name)
	}
	if !slices.Contains([]string{"OpenMPI", "Intel", "MPICH"}, s.MPIImplementation) || !slices.Contains([]string{"None", "Running", "All"}, s.RunPolicy.CleanPodPolicy) {
		t.Errorf("implementation %q, policy %q", s.MPIImplementation, s.RunPolicy.CleanPodPolicy)
	}
	launcher, worker := s.MPIReplicaSpecs.Launcher, s.MPIReplicaSpecs.Worker
	if launcher.Replicas != 1 || worker.Replicas < 1 || s.SlotsPerWorker < 1 {
		t.Fatalf("%d launchers, %d workers of %d slots", launcher.Replicas, worker.Replicas, s.SlotsPerWorker)
	}
	for _, r := range []replicas{launcher, worker} {
		if len(r.Template.Spec.Containers) != 1 {
			t.Fatalf("%d containers", len(r.Template.Spec.Containers))
		}
		c := r.Template.Spec.Containers[0]
		if c.Name == "" || c.Image == "" || len(c.Command) == 0 || c.SecurityContext.RunAsUser == 0 || s.SSHAuthMountPath != "/home/mpiuser/.ssh" {
			t.Errorf("container %+v, keys in %s", c, s.SSHAuthMountPath)
		}
		for _, mount := range c.VolumeMounts {
			if !slices.ContainsFunc(r.Template.Spec.Volumes, func(v volume) bool { return v.Name == mount.Name && v.PersistentVolumeClaim.ClaimName != "" }) {
				t.Errorf("%s mounts %s, which is no volume", c.Name, mount.Name)
			}
		}
	}
	// Each worker runs one rank for each slot, and all ranks see the data.
	command := launcher.Template.Spec.Containers[0].Command
	at := slices.Index(command, "-n")
	if command[0] != "mpirun" || at < 0 || command[at+1] != strconv.Itoa(worker.Replicas*s.SlotsPerWorker) {
		t.Errorf("%v for %d workers of %d slots", command, worker.Replicas, s.SlotsPerWorker)
	}
	mounts := worker.Template.Spec.Containers[0].VolumeMounts
	for _, option := range []string{"--data", "--out"} {
		k := slices.Index(command, option)
		if k < 0 || len(mounts) != 1 || !strings.HasPrefix(strings.TrimPrefix(command[k+1], "store:"), mounts[0].MountPath+"/") {
			t.Errorf("%s of %v is not in %v", option, command, mounts)
		}
	}
}
