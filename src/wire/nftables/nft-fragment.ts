/** Rules of nftables as values: what one owner wants to be in a table. */

/** The sets, maps and chains of a table must not be written by anybody else. */
export type NftFragment = {
  /** Chain to its rules, one a line, in order. A base chain begins with its `type … hook …;`. */
  chains: Map<string, readonly string[]>
  /** Set or map to its declaration, without elements: `type ipv4_addr; flags interval;`. */
  sets: Map<string, string>
  /** Set or map to key to value; the value of an element of a set is empty. */
  elements: Map<string, Map<string, string>>
}

export function emptyFragment(): NftFragment {
  return { chains: new Map(), sets: new Map(), elements: new Map() }
}

/** The last value counts where a key is added twice. */
export function addElement({ elements }: NftFragment, set: string, key: string, value = ''): void {
  const known = elements.get(set)
  if (known === undefined) elements.set(set, new Map([[key, value]]))
  else known.set(key, value)
}

/** Whether a declaration is of a map, whose elements have values. */
export const isMap = (declaration: string): boolean => / : /.test(declaration)

/** A base chain, which hangs in a hook. */
export const isBaseChain = (rules: readonly string[]): boolean => rules[0]?.startsWith('type ') ?? false
