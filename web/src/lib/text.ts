// Sentences for people. A catalogue is a plain object of texts with {name}
// places; a text that depends on a number has one form per plural category.

import { ar } from './ar'
import { de } from './de'
import { en } from './en'
import { bdi, type Child } from './dom'

export type Plural = { readonly one: string; readonly other: string; readonly zero?: string; readonly two?: string; readonly few?: string; readonly many?: string }
export type Key = keyof typeof en
/** A catalogue of another language has the same keys. */
export type Catalogue = { readonly [K in Key]: string | Plural }
export type Params = { readonly [name: string]: string | number }

const catalogues: { readonly [language: string]: Catalogue } = { en, de, ar }

/** language is the catalogue in use: the document's, else English. */
export const language: string = (() => {
	const asked = (document.documentElement.lang || 'en').toLowerCase()
	for (const name of [asked, asked.split('-')[0] ?? 'en']) if (name in catalogues) return name
	return 'en'
})()

const catalogue: Catalogue = catalogues[language] ?? en
const plurals = new Intl.PluralRules(language)
const numbers = new Intl.NumberFormat(language)

function template(key: Key, params: Params): string {
	const entry = catalogue[key]
	if (typeof entry === 'string') return entry
	const n = Number(params['n'] ?? 0)
	return entry[plurals.select(n)] ?? entry.other
}

/** t is a sentence as plain text, for attributes and announcements. */
export function t(key: Key, params: Params = {}): string {
	return template(key, params).replace(/\{(\w+)\}/g, (_, name: string) => show(params[name]))
}

/** rich is a sentence as nodes: what came from outside is isolated by bdi. */
export function rich(key: Key, params: Params = {}): Child[] {
	return template(key, params).split(/(\{\w+\})/g).filter(Boolean).map((part) => {
		const name = /^\{(\w+)\}$/.exec(part)?.[1]
		if (name === undefined) return part
		const value = params[name]
		return typeof value === 'string' ? bdi(value) : show(value)
	})
}

/** bytes is a size for people, such as 6.8 MB. */
export function bytes(n: number): string {
	const mega = n >= 1_000_000
	return new Intl.NumberFormat(locale, { style: 'unit', unit: mega ? 'megabyte' : 'kilobyte', maximumFractionDigits: mega ? 1 : 0 }).format(n / (mega ? 1_000_000 : 1000))
}

function show(value: string | number | undefined): string {
	return typeof value === 'number' ? numbers.format(value) : value ?? ''
}

/** toolCalled is a tool inside a sentence: a title in quotation marks, or its name as it is. */
export function toolCalled(title: string | undefined, name: string): string {
	return title && title !== name ? t('tool.titled', { title }) : name
}

/** has says whether a key made at run time exists. */
export function has(key: string): key is Key {
	return Object.hasOwn(en, key)
}

/** locale is how dates and numbers are written: the browser's own way, if it is of the catalogue's language. */
export const locale: string = navigator.language?.toLowerCase().split('-')[0] === language.split('-')[0] ? navigator.language : language

const moments = new Intl.DateTimeFormat(locale, { dateStyle: 'long', timeStyle: 'short' })
const times = new Intl.DateTimeFormat(locale, { timeStyle: 'short' })

/** when is a moment for people: the time alone if it is today. */
export function when(rfc3339: string | null | undefined): string {
	if (!rfc3339) return ''
	const date = new Date(rfc3339)
	if (Number.isNaN(date.getTime())) return rfc3339
	return date.toDateString() === new Date().toDateString() ? times.format(date) : moments.format(date)
}

const days = new Intl.DateTimeFormat(locale, { dateStyle: 'long' })

/** at is a moment inside a sentence: "at 14:05", or "on 3 May 2027 at 14:05". */
export function at(rfc3339: string | null | undefined): string {
	const date = new Date(rfc3339 ?? '')
	if (Number.isNaN(date.getTime())) return ''
	const time = times.format(date)
	return date.toDateString() === new Date().toDateString() ? t('time.today', { time }) : t('time.day', { date: days.format(date), time })
}
