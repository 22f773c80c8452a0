// "Not now" is this tab's own business.
export function remembered(id: string): boolean {
	try {
		return sessionStorage.getItem(`parley.later.${id}`) !== null
	} catch {
		return false
	}
}

export function remember(id: string, later: boolean): void {
	try {
		if (later) sessionStorage.setItem(`parley.later.${id}`, '1')
		else sessionStorage.removeItem(`parley.later.${id}`)
	} catch { /* storage is switched off: the card is open again after a reload */ }
}
