// The four formats of MCP, by the rules of package form.

/** isDate: RFC 3339 section 5.6 full-date, on the real calendar. */
export function isDate(text: string): boolean {
	const [, year, month, day] = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text) ?? []
	const date = new Date(0)
	date.setUTCFullYear(Number(year), Number(month) - 1, Number(day))
	return date.getUTCMonth() === Number(month) - 1 && date.getUTCDate() === Number(day)
}

/** isMoment: RFC 3339 section 5.6 date-time. A leap second is one only at 23:59:60 UTC. */
export function isMoment(text: string): boolean {
	const [, date = '', hour, minute, second, sign, ahead, apart] = /^(.{10})[Tt](\d\d):(\d\d):(\d\d)(?:\.\d+)?(?:[Zz]|([+-])(\d\d):(\d\d))$/.exec(text) ?? []
	const [h, m, s, oh, om] = [Number(hour), Number(minute), Number(second), Number(ahead ?? 0), Number(apart ?? 0)]
	if (!isDate(date) || !(h < 24 && m < 60 && s < 61 && oh < 24 && om < 60)) return false
	const utc = h * 60 + m - (sign === '-' ? -1 : 1) * (oh * 60 + om)
	return s < 60 || (utc + 1440) % 1440 === 1439
}

const pchar = "(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})"
const inName = "(?:[A-Za-z0-9._~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})"
const inUser = `(?:${inName}|:)`
const uri = new RegExp(`^([A-Za-z][A-Za-z0-9+.-]*):(?://(?:${inUser}*@)?(\\[[^\\]]*\\]|${inName}*)(?::(\\d{0,5}))?(?=[/?#]|$))?(?:${pchar}|/)*(?:\\?(?:${pchar}|[/?])*)?(?:#(?:${pchar}|[/?])*)?$`)

/** isURI: RFC 3986 section 3, with a scheme; http and https also need a host. */
export function isURI(text: string): boolean {
	const [whole, scheme = '', host, port = ''] = uri.exec(text) ?? []
	if (whole === undefined || Number(port) > 65535) return false
	// What follows "//" is an authority, or it is no URI.
	if (host === undefined && text.startsWith('//', scheme.length + 1)) return false
	if (host?.startsWith('[') && !isIPv6(host.slice(1, -1))) return false
	return !/^https?$/i.test(scheme) || !!host
}

const atom = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
const local = new RegExp(`^(?:${atom}(?:\\.${atom})*|"(?:[ !#-\\[\\]-~]|\\\\[ -~])+")$`)
const label = '[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?'
const domain = new RegExp(`^${label}(?:\\.${label})*$`)

/** isEmail: RFC 5321 section 4.1.2 Mailbox, in ASCII. */
export function isEmail(text: string): boolean {
	const at = text.lastIndexOf('@')
	const [name, host] = [text.slice(0, Math.max(at, 0)), text.slice(at + 1)]
	if (text.length > 254 || name.length > 64 || !local.test(name)) return false
	const literal = /^\[(IPv6:)?(.*)\]$/i.exec(host)
	if (literal) return literal[1] ? isIPv6(literal[2] ?? '') : isIPv4(literal[2] ?? '')
	return host.length <= 253 && domain.test(host)
}

function isIPv4(text: string): boolean {
	return /^(?:(?:0|[1-9]\d{0,2})(?:\.(?!$)|$)){4}$/.test(text) && text.split('.').every((part) => Number(part) < 256)
}

function isIPv6(text: string): boolean {
	return /^[0-9A-Fa-f:.]+$/.test(text) && URL.canParse(`http://[${text}]/`)
}
