package kernel

import "math"

// expFloor is where the exponential stops falling: e^-87 ≈ 1.6e-38 is the
// last power that is comfortably a normal float32.
const expFloor = -87

// Constants of the exponential for arguments in [expFloor, 0] (Cody & Waite
// reduction, polynomial of Moshier's Cephes expf): z = n·ln2 + r, |r| ≤ ln2/2,
// ln2 split so that n·ln2Hi is exact.
const (
	log2E  = 1.44269504088896341
	ln2Hi  = 0.693359375
	ln2Lo  = -2.12194440e-4
	expC0  = 1.9875691500e-4
	expC1  = 1.3981999507e-3
	expC2  = 8.3334519073e-3
	expC3  = 4.1665795894e-2
	expC4  = 1.6666665459e-1
	expC5  = 5.0000001201e-1
	expOne = 127 << 23 // bits of 1.0
)

// expNeg returns e^z and e^z − 1 for z ≤ 0, both to within 2e-7 relative error;
// below expFloor it returns their values there. NaN gives NaN.
func expNeg(z float32) (e, em1 float32) {
	if z < expFloor {
		z = expFloor
	}
	n := int32(z*log2E - 0.5) // truncation rounds to nearest, as z ≤ 0
	f := float32(n)
	r := z - f*ln2Hi - f*ln2Lo
	p := float32(expC0)
	p = p*r + expC1
	p = p*r + expC2
	p = p*r + expC3
	p = p*r + expC4
	p = p*r + expC5
	p = p*(r*r) + r // e^r − 1
	two := math.Float32frombits(uint32(n<<23 + expOne))
	return two*p + two, two*p + (two - 1)
}
