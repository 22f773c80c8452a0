// The card of a url question: what the address really is, and a button that
// opens it. Nothing is fetched from that address before the click: no link
// element, no preview, no icon (MCP 2026-07-28 elicitation, "Safe URL Handling"
// C1, C3, C5: the whole address is shown, its domain stands out).

import { el, bdi, type Child } from '../lib/dom'
import { rich, t } from '../lib/text'
import type { Link, Question } from '../lib/wire'
import { quoted } from './parts'

/** agrees says whether this browser reads the address as the server's report does. Where they differ nothing is opened. */
export function agrees(link: Link): boolean {
	if (!link.href) return false
	try {
		const url = new URL(link.href)
		return url.href === link.href && (url.protocol === 'https:' || url.protocol === 'http:')
			&& url.hostname === (link.host ?? '') && url.port === (link.port ?? '')
			&& url.username === '' && url.password === ''
	} catch {
		return false
	}
}

/** canOpen says whether the card may offer to open the address. */
export function canOpen(question: Question): boolean {
	return question.url !== null && question.url.verdict !== 'refuse' && agrees(question.url)
}

/** needsSecondLook says whether opening takes a second, explicit confirmation. */
export function needsSecondLook(question: Question): boolean {
	return question.url?.verdict === 'warn'
}

/** siteName is what the button says: the domain, in the letters that cannot deceive when there is a warning. */
export function siteName(link: Link): string {
	if (link.verdict === 'warn') return link.domain || link.host || ''
	return link.domain_unicode || link.domain || link.host_unicode || link.host || ''
}

/** sha256 is the hex digest of the address that is on the screen. */
export async function sha256(text: string): Promise<string> {
	const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))
	return [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** address draws website, full address and findings, in that order. */
export function address(question: Question): Child[] {
	const link = question.url
	if (!link) return [el('p', { class: 'warning' }, t('link.none'))]
	const refused = !canOpen(question)
	const first = siteName(link)
	const ascii = link.domain || link.host || ''
	const other = first === ascii ? link.domain_unicode || link.host_unicode || '' : ascii
	return [
		first === '' ? null : el('p', { class: 'site', 'data-part': 'site' },
			el('span', { class: 'quiet' }, t('link.website')), ' ', el('strong', { class: 'domain', dir: 'ltr' }, first),
			other && other !== first ? el('span', { class: 'quiet' }, ' ', rich(link.verdict === 'warn' ? 'link.letters' : 'link.ascii', { name: other })) : null),
		refused
			? el('code', { class: 'url', dir: 'ltr', 'data-part': 'address' }, quoted(link.raw ?? ''))
			: el('code', { class: 'url', dir: 'ltr', 'data-part': 'address' }, emphasised(link)),
		!refused && link.raw !== undefined && link.raw !== link.href ? el('p', { class: 'hint' }, t('link.rewritten'), ' ', el('code', { class: 'value', dir: 'ltr' }, quoted(link.raw))) : null,
		findings(question),
	]
}

// The registered domain stands out inside the whole address.
function emphasised(link: Link): Child[] {
	const href = link.href ?? ''
	const host = link.host ?? ''
	const domain = link.domain || host
	const start = href.indexOf(host, href.indexOf('//'))
	if (host === '' || start < 0 || !host.endsWith(domain)) return [href]
	const at = start + host.length - domain.length
	return [href.slice(0, at), el('strong', { class: 'domain' }, domain), href.slice(at + domain.length)]
}

function findings(question: Question): Child {
	const link = question.url
	if (!link) return null
	const list = [...link.findings ?? []].map((finding) => finding.verdict === 'ok' ? null : el('li', { class: finding.verdict ?? 'note', 'data-code': finding.code },
		el('strong', null, t(finding.verdict === 'refuse' ? 'link.refuse' : finding.verdict === 'warn' ? 'link.warn' : 'link.note')), ' ', bdi(finding.text)))
	if (link.verdict !== 'refuse' && !agrees(link)) {
		list.unshift(el('li', { class: 'refuse', 'data-code': 'browser_differs' }, el('strong', null, t('link.refuse')), ' ', t('link.differs')))
	}
	return list.length === 0 ? null : el('ul', { class: 'findings', 'data-part': 'findings' }, list)
}
