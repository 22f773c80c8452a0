// Numbers as people type them, compared digit by digit: a JavaScript number would
// round 9007199254740993. The rules are those of package form.

// The zeros of the digit sets that keyboards produce.
const zeros = [0x30, 0x660, 0x6f0, 0x966, 0x9e6, 0xe50, 0xff10]

const same: { readonly [char: string]: string } = { '\u2212': '-', '\uff0d': '-', '\uff0b': '+', '\u066b': '.', '\uff0e': '.', "'": ' ', '\u2019': ' ', '\u066c': ' ' }

const longest = 1000 // characters of a typed number

/** typedNumber is the literal of a number that a person typed, or null. An integer may be written 1.0 and not 1e3: see isWhole. */
export function typedNumber(text: string): string | null {
	if ([...text].length > longest) return null
	const plain = inASCII(text)
	const [, sign = '', mantissa = '', exponent = ''] = /^([+-]?) *([\d., ]*)((?:[eE][+-]?\d+)?)$/.exec(plain ?? '') ?? []
	const point = withPoint(mantissa)
	const [, grouped = '', fraction = ''] = /^([^.]*)\.?(\d*)$/.exec(point ?? ' ') ?? [, ' ']
	const whole = /^\d{1,3}( \d{3})+$/.test(grouped) ? grouped.replaceAll(' ', '') : grouped
	if (!/^\d*$/.test(whole) || whole === '' && fraction === '') return null
	const literal = `${sign === '-' ? '-' : ''}${whole || '0'}${fraction && `.${fraction}`}${exponent}`
	return Number.isFinite(Number(literal)) ? literal : null
}

// inASCII writes digits of one other script, and its signs, as ASCII has them.
function inASCII(text: string): string | null {
	let zero = 0
	let plain = ''
	for (const char of text) {
		const code = char.codePointAt(0) ?? 0
		const from = zeros.find((z) => code >= z && code <= z + 9)
		if (from !== undefined) {
			if (zero !== 0 && zero !== from) return null
			zero = from
			plain += String(code - from)
		} else plain += same[char] ?? (/[\t\u00a0\u2000-\u200a\u202f\u205f\u3000]/.test(char) ? ' ' : char)
	}
	return plain.replace(/^ +| +$/g, '')
}

// withPoint has a point before the decimals. A comma is one where it can be nothing
// else: 1,5 and 0,125, and not 1,234, which people read in two ways.
function withPoint(mantissa: string): string | null {
	if (!mantissa.includes(',')) return mantissa
	const [, whole = '', fraction = ''] = /^([^,.]*),(\d+)$/.exec(mantissa) ?? []
	const twoWays = fraction.length === 3 && whole.length <= 3 && whole !== '0' && whole !== ''
	return fraction === '' || twoWays ? null : `${whole}.${fraction}`
}

// A Decimal is 0.DIGITS times ten to the power; zero has no digits.
type Decimal = { negative: boolean; digits: string; power: number }

function decimal(literal: string): Decimal {
	const [, sign = '', whole = '', fraction = '', exponent = '0'] = /^([+-]?)(\d*)\.?(\d*)(?:[eE]([+-]?\d+))?$/.exec(literal) ?? []
	const all = whole + fraction
	const digits = all.replace(/^0+/, '')
	return { negative: sign === '-', digits: digits.replace(/0+$/, ''), power: whole.length - (all.length - digits.length) + Number(exponent) }
}

/** compare is below, at or above zero as a is below, at or above b; both are literals. */
export function compare(a: string, b: string): number {
	const [x, y] = [decimal(a), decimal(b)]
	const side = (d: Decimal): number => d.digits === '' ? 0 : d.negative ? -1 : 1
	if (side(x) !== side(y) || side(x) === 0) return side(x) - side(y)
	const size = x.power - y.power || (x.digits < y.digits ? -1 : x.digits > y.digits ? 1 : 0)
	return size * side(x)
}

/** isWhole is true for 7, 7. and 7.00, and false for 7e2. */
export function isWhole(literal: string): boolean {
	return /^-?\d+(\.0*)?$/.test(literal)
}

/** isMultiple is false also where the two are so far apart that it is not worth finding out. */
export function isMultiple(literal: string, of: string): boolean {
	const [x, y] = [decimal(literal), decimal(of)]
	if (x.digits === '') return true
	const [low, high] = [x.power - x.digits.length, y.power - y.digits.length]
	if (y.digits === '' || !(Math.abs(low - high) <= longest)) return false
	const scaled = (d: Decimal, exponent: number): bigint => BigInt(d.digits) * 10n ** BigInt(exponent - Math.min(low, high))
	return scaled(x, low) % scaled(y, high) === 0n
}
