package run

import (
	"errors"
	"fmt"
	"os"

	"github.com/gcn-layerwise/gcn/layers"
)

// Settings are the options of a training run. A run's config.json holds all of them under the
// names in the tags. A flag has the same name, with - in place of _.
//
// The other tags: group is the part of the help; "rare" options are shown by --help-all only,
// and "file" options have no flag. range is an interval, choice the words that are allowed,
// arg the word for the value in the help, in ASCII for pflag, which aligns bytes. with names the
// options that the option needs, without those that it excludes, and why the reason. exact and
// control say why exact input or a control variate excludes the option, with any value beside the
// default or with the one in when. An option with auto may be "auto", and is then the number in the
// tag, which is no value of its own. A limit of 0 is off.
type Settings struct {
	Data       string `json:"data" group:"Data and sampling" default:"synth:demo" arg:"SPEC" help:"data SPEC; gcn datasets list shows all kinds"`
	Method     string `json:"method" group:"Data and sampling" arg:"NAME" help:"sampling method NAME, perhaps with parts: ladies?flat=1&draw=poisson; gcn methods lists them (default: ladies-cv, or ladies-flat-debiased where the model keeps no histories)"`
	Samples    Sizes  `json:"samples" group:"Data and sampling" range:"[1," arg:"N,..." auto:"0" help:"nodes drawn per layer, next to the output first, or one number for all; auto: as gcn study advise recommends (default: 512; ladies-cv 1024; node-wise methods: 2 neighbours per node)"`
	ExactInput bool   `json:"exact_input" group:"Data and sampling" help:"propagate the features once, over all neighbours, and sample only the other layers: one number fewer in --samples"`

	Layers     int     `json:"layers" group:"Model" when:"1" exact:"the only propagation is then exact, and nothing is left to sample; use --method full, or more layers" range:"[1,1000]" help:"graph convolutions (default: as many as --samples has numbers, else 2)"`
	Hidden     int     `json:"hidden" group:"Model" default:"256" range:"[1,65536]" help:"width of the hidden layers"`
	Dropout    float64 `json:"dropout" group:"Model" default:"0.2" range:"[0,1)" help:"share of hidden values dropped while training"`
	Activation string  `json:"activation" group:"Model" default:"elu" choice:"elu|relu|gelu" help:"elu, relu or gelu"`
	LayerNorm  bool    `json:"layer_norm" group:"Model" help:"layer normalisation before each activation (default: a trial decides, see docs/command.md)"`
	Residual   bool    `json:"residual" group:"Model" help:"add a linear map of a node's own features to each convolution"`

	Model             string  `json:"model" group:"Model,rare" default:"program" choice:"program|equation" help:"program: as in the paper's program; equation: convolutions alone, as in the paper's equation 1"`
	Conv              string  `json:"conv" group:"Model,rare" when:"gat" exact:"attention reads the features themselves" control:"attention keeps no history of activations" default:"gcn" choice:"gcn|gat" help:"gcn: weights of the Laplacian; gat: attention, which learns them"`
	Heads             int     `json:"heads" group:"Model,rare" default:"8" range:"[1,65536]" with:"conv=gat" help:"with gat: heads of a hidden layer, which share --hidden"`
	OutputHeads       int     `json:"output_heads" group:"Model,rare" default:"1" range:"[1,65536]" with:"conv=gat,model=equation" help:"with gat and --model equation: heads of the last layer; their mean is the output"`
	AttentionDropout  float64 `json:"attention_dropout" group:"Model,rare" default:"0" range:"[0,1)" with:"conv=gat" help:"with gat: share of the coefficients dropped while training"`
	PlainAttention    bool    `json:"plain_attention" group:"Model,file" with:"conv=gat" help:"with gat: leave out the sampler's weights (biased)"`
	BiasAfter         bool    `json:"bias_after" group:"Model,rare" with:"conv=gcn" help:"biases after the propagation, as in PyTorch Geometric and DGL, also with --model equation"`
	BatchNorm         bool    `json:"batch_norm" group:"Model,rare" without:"layer_norm" help:"in place of --layer-norm: normalise the columns over the mini-batch; running averages in inference"`
	HiddenResidual    string  `json:"hidden_residual" group:"Model,rare" default:"none" choice:"none|identity|linear" help:"add a node's own row of each convolution's input: none, identity or linear (a map of it, as GraphSAGE has)"`
	InputLayer        bool    `json:"input_layer" group:"Model,rare" exact:"the features are propagated once, before training" help:"a linear layer with activation and dropout below the first convolution"`
	PreNorm           bool    `json:"pre_norm" group:"Model,rare" control:"they keep activations and not their norms" with:"model=program" help:"--layer-norm or --batch-norm of each convolution's input and of the classifier's, and residuals added last"`
	FeedForward       bool    `json:"feed_forward" group:"Model,rare" with:"pre_norm" help:"with --pre-norm: a second linear layer and dropout after each convolution's activation"`
	OwnState          bool    `json:"own_state" group:"Model,file" with:"input_layer" help:"with input_layer: a second weight of each convolution for a node's own row (GraphSAGE)"`
	InputDropout      float64 `json:"input_dropout" group:"Model,rare" exact:"the features are propagated once, without dropout" default:"0" range:"[0,1)" help:"share of the features dropped while training"`
	EdgeDropout       float64 `json:"edge_dropout" group:"Model,rare" control:"they add the edges that are left out" default:"0" range:"[0,1)" help:"share of the sampled edges dropped while training; the others are scaled up"`
	ClassifierDropout float64 `json:"classifier_dropout" group:"Model,rare" default:"0.2" range:"[0,1)" help:"share of the classifier's inputs dropped again; not with --model equation"`

	Batch       int     `json:"batch" group:"Training" default:"1024" range:"[1," help:"training nodes per mini-batch"`
	MaxBatches  int     `json:"max_batches" group:"Training" default:"auto" range:"[0," arg:"N|auto" auto:"-1" help:"stop after this many mini-batches; 0: no limit; auto: 65 passes over the training nodes, at least 3250, or as --epochs says"`
	EvalEvery   int     `json:"eval_every" group:"Training" default:"auto" range:"[1," arg:"N|auto" auto:"0" help:"mini-batches between two validation scores; auto: the scores are about a quarter of the work, and at most one in a pass over the training nodes, unless --max-batches or --patience ask for more"`
	Patience    int     `json:"patience" group:"Training" default:"auto" range:"[0," arg:"N|auto" auto:"-1" help:"stop after this many mini-batches without a better validation score; 0: no limit; auto: 800, more where --batch times --micro is below 1024"`
	LR          float64 `json:"lr" group:"Training" default:"0.03" range:"(0," help:"Adam's step size; 0.005 where a trial takes layer norm"`
	WeightDecay float64 `json:"weight_decay" group:"Training" default:"0" range:"[0," help:"Adam's L2 coefficient"`
	Seed        uint64  `json:"seed" group:"Training" default:"1" help:"seed of all random decisions"`
	Runs        int     `json:"runs" group:"Training" default:"1" range:"[1," help:"train this many times, with seeds seed, seed+1, …"`
	Device      string  `json:"device" group:"Training" default:"cpu" choice:"cpu|cuda" help:"cpu, or cuda in a build with CUDA"`

	EvalSamples     int     `json:"eval_samples" group:"Training,rare" default:"0" range:"[0," arg:"N" help:"score a sample of N validation and N test nodes, drawn once, in place of all (0: all nodes)"`
	Epochs          int     `json:"epochs" group:"Training,rare" default:"0" range:"[0," help:"stop after this many epochs of --batches-per-epoch mini-batches; 0: no limit"`
	BatchesPerEpoch int     `json:"batches_per_epoch" group:"Training,rare" default:"10" range:"[0," help:"mini-batches of random training nodes per epoch; 0: one pass over all training nodes"`
	Micro           int     `json:"micro" group:"Training,rare" default:"1" range:"[1," help:"mini-batches of an update, shared by MPI ranks; limits and intervals then count updates"`
	Partition       string  `json:"partition" group:"Training,rare" default:"none" choice:"none|features|all" without:"device=cuda" why:"a GPU keeps the whole features in its memory" help:"data that MPI ranks hold in parts, without effect on the results: none, features, or all (the graph too)"`
	Seeds           string  `json:"seeds" group:"Training,rare" choice:"uniform|loss|gradient" help:"probabilities of the training nodes: uniform, or by their last loss or gradient, with debiased weights (default: uniform; mvs: gradient)"`
	SeedsEvery      int     `json:"seeds_every" group:"Training,file" default:"50" range:"[1," help:"with seeds loss or gradient: mini-batches between two updates"`
	LabelSmoothing  float64 `json:"label_smoothing" group:"Training,rare" default:"0" range:"[0,1)" help:"share of a label's weight that goes to all classes alike"`
	ClassWeights    string  `json:"class_weights" group:"Training,rare" default:"none" choice:"none|balanced" help:"none, or balanced: each class has the same weight in the loss"`
	Schedule        string  `json:"schedule" group:"Training,rare" default:"cosine" arg:"NAME" help:"fall of the step size: NAME is none or cosine (to 0 at --max-batches), perhaps with a key: cosine?warm-up=100"`
	DecoupledDecay  bool    `json:"decoupled_decay" group:"Training,rare" with:"weight_decay" help:"AdamW: --weight-decay shrinks the weights, and not by way of the gradient"`
	Beta1           float64 `json:"beta1" group:"Training,file" default:"0.9" range:"(0,1)" help:"decay of Adam's mean of the gradients"`
	Beta2           float64 `json:"beta2" group:"Training,file" default:"0.999" range:"(0,1)" help:"decay of Adam's mean of their squares"`
	Epsilon         float64 `json:"epsilon" group:"Training,file" default:"1e-08" range:"(0," help:"Adam's constant against division by zero"`
	Clip            float64 `json:"clip" group:"Training,rare" default:"0" range:"[0," help:"scale gradients of a larger norm down to this one; 0: no limit"`
	Workers         int     `json:"workers" group:"Training,rare" default:"0" range:"[0," help:"goroutines that sample ahead, without effect on the results; 0: one per core"`

	CheckpointInterval float64 `json:"checkpoint_interval" group:"Output,file" default:"2" range:"[0," help:"least seconds between two checkpoints; 0: one after every evaluation"`

	given map[string]Value // the options that were set, by their names
}

// Output are the options of a run's folder and of the messages: they are no part of a run.
type Output struct {
	Out       string `json:"out" group:"Output" arg:"DIR" help:"the run's folder DIR (default: a new folder under runs/)"`
	Resume    bool   `json:"resume" group:"Output" with:"out" without:"overwrite" help:"continue the run in --out, or start it if there is none"`
	Recipe    string `json:"recipe" group:"Output" arg:"NAME" help:"a published setting by NAME (gcn recipes lists them), or a file of options, for all options that neither the command line nor --config sets"`
	Config    string `json:"config" group:"Output" arg:"FILE" help:"JSON FILE of options, such as a run's config.json"`
	JSON      bool   `json:"json" group:"Output" help:"print the result as one JSON object, last on standard output"`
	Quiet     bool   `json:"quiet" group:"Output" short:"q" help:"print no progress"`
	Overwrite bool   `json:"overwrite" group:"Output,rare" with:"out" help:"remove the run in --out, and start another"`
	Bound
}

// Bound are the bounds on the memory of inference. They do not change the results.
type Bound struct {
	Memory  Bytes  `json:"memory" group:"Output,rare" arg:"8GiB" help:"memory of an evaluation, such as 8GiB, beside a mapped store and the scores; larger hidden layers lie in a file (default: no limit; with --scratch half of the memory, at most 8GiB)"`
	Scratch string `json:"scratch" group:"Output,rare" arg:"DIR" help:"DIR of the files of hidden layers that do not fit in --memory, on a disk with room for them (default: with --memory the system's folder of temporary files)"`
}

// Inference returns the bounds for inference on a device.
func (b Bound) Inference(device string) (bound layers.InferenceBound, err error) {
	if (b != Bound{}) && device != "cpu" {
		return bound, &OptionError{Option: "memory", Err: errors.New("--memory and --scratch are for --device cpu")}
	}
	if _, err := os.ReadDir(b.Scratch); b.Scratch != "" && err != nil { // before the work, not after it
		return bound, fmt.Errorf("--scratch: %w", err)
	}
	return layers.InferenceBound{Memory: int64(b.Memory), Scratch: b.Scratch}, nil
}
