// Package run has the settings of a training run, and makes a model, a sampler and the options
// of train.Fit of them. A Job trains, with one seed or several, and Open opens what was trained.
//
//	recipe, file, saved run, command line ─▶ Settings ─▶ Plan ─▶ Job ─▶ layers, samplers, train
//	                                         a run's folder ─▶ Open ─▶ model and data
//
// Settings has one field for each option. The tags of a field give its flag, its place in the
// help, its default, its values and the options that it needs. Flags, files of options, the
// broadcast to MPI's ranks and the table in docs/command.md are made from them. Structs of
// other commands' options have the same tags.
package run
