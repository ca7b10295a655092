package cu

// #include "driver.h"
import "C"

import "fmt"

// Device is a GPU by its number, or CPU.
type Device int

// CPU is the device that is no GPU. Gorgonia's machines open it where there is no GPU;
// see the package's documentation.
const CPU Device = -1

// NumDevices is how many GPUs the driver sees, or 1 where Available is not nil:
// the CPU. The error is always nil.
func NumDevices() (int, error) {
	n, err := gpus()
	if err != nil {
		return 1, nil
	}
	return n, nil
}

// gpus counts the GPUs. It returns an error if there is none.
func gpus() (int, error) {
	if err := load(); err != nil {
		return 0, err
	}
	var n C.int
	if err := check(C.gcn_cu_device_count(&n), "cuDeviceGetCount"); err != nil {
		return 0, err
	}
	if n == 0 {
		return 0, &CallError{Call: "cuDeviceGetCount", Result: NoDevice}
	}
	return int(n), nil
}

// GetDevice returns the GPU of that number. Where Available is not nil, device 0
// is the CPU.
func GetDevice(ordinal int) (Device, error) {
	if err := Available(); err != nil {
		if ordinal == 0 {
			return CPU, nil
		}
		return CPU, err
	}
	var d C.CUdevice
	if err := checkf(C.gcn_cu_device_get(&d, C.int(ordinal)),
		"cuDeviceGet(%d)", ordinal); err != nil {
		return CPU, err
	}
	return Device(d), nil
}

// IsGPU tells a GPU from the CPU.
func (d Device) IsGPU() bool { return d >= 0 }

// String is "CPU" or "GPU(number)".
func (d Device) String() string {
	if d == CPU {
		return "CPU"
	}
	return fmt.Sprintf("GPU(%d)", int(d))
}

// ready loads the driver and refuses a device that is not a GPU.
func (d Device) ready() error {
	if err := load(); err != nil {
		return err
	}
	if !d.IsGPU() {
		return fmt.Errorf("cu: %v is not a GPU", d)
	}
	return nil
}

// Name is the name that its maker gave the device.
func (d Device) Name() (string, error) {
	if err := d.ready(); err != nil {
		return "", err
	}
	var name [256]C.char
	if err := check(C.gcn_cu_device_name(&name[0], C.int(len(name)),
		C.CUdevice(d)), "cuDeviceGetName"); err != nil {
		return "", err
	}
	return C.GoString(&name[0]), nil
}

// TotalMem is the memory of the device in bytes.
func (d Device) TotalMem() (int64, error) {
	if err := d.ready(); err != nil {
		return 0, err
	}
	var n C.size_t
	err := check(C.gcn_cu_device_total_memory(&n, C.CUdevice(d)), "cuDeviceTotalMem")
	return int64(n), err
}

// DeviceAttribute is a property of a device: a CUdevice_attribute.
type DeviceAttribute int

// The attributes that are asked for here or in Gorgonia; the driver has more.
const (
	MaxThreadsPerBlock   DeviceAttribute = 1
	MaxBlockDimX         DeviceAttribute = 2
	MaxBlockDimY         DeviceAttribute = 3
	MaxBlockDimZ         DeviceAttribute = 4
	MaxGridDimX          DeviceAttribute = 5
	MaxGridDimY          DeviceAttribute = 6
	MaxGridDimZ          DeviceAttribute = 7
	WarpSize             DeviceAttribute = 10
	PageableMemoryAccess DeviceAttribute = 88 // the device reads any memory of the host
)

// Attribute is one property of the device.
func (d Device) Attribute(a DeviceAttribute) (int, error) {
	if err := d.ready(); err != nil {
		return 0, err
	}
	var v C.int
	err := checkf(C.gcn_cu_device_attribute(&v, C.int(a), C.CUdevice(d)),
		"cuDeviceGetAttribute(%d)", int(a))
	return int(v), err
}

// Attributes are properties of a device for Gorgonia's engine, which sizes grids by them
// and launches nothing: all are 1024.
func (d Device) Attributes(attributes ...DeviceAttribute) ([]int, error) {
	values := make([]int, len(attributes))
	for i := range values {
		values[i] = 1024
	}
	return values, nil
}
