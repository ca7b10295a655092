// Package weights reads and writes files of named float32 tensors, such as the parameters of
// a model.
//
//	.safetensors ◀──▶ ┌──────────┐
//	.pt, .pth    ───▶ │ []Tensor │ ◀──▶ parameters of a model
//	                  └──────────┘
//
// A .pt file is a state_dict of PyTorch 1.6 or later. It holds a pickle, which is a program.
// This package does not run it: it interprets the opcodes and the classes that a state_dict
// needs, and refuses all others.
package weights
