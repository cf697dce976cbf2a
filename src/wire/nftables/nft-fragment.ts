/** Rules of nftables as values: what one owner wants to be in a table. */

/** The sets, maps and chains of a table must not be written by anybody else. */
export type NftFragment = {
  /** Chain to its rules, one a line, in order. A base chain begins with its `type … hook …;`. */
  chains: Map<string, readonly string[]>
  /** Set or map to its declaration, without elements: `type ipv4_addr; flags interval;`. */
  sets: Map<string, string>
  /** Set or map to key to value; the value of an element of a set is empty. */
  elements: Map<string, Map<string, string>>
  /** What its chains hold where the fragment has to be left out; `drop` unless it says otherwise. */
  whenLeftOut?: readonly string[]
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

/**
 * What is left of a fragment that the kernel does not take: its chains and sets are there, since others speak of them, but nothing that it
 * says is in them.
 */
export function remainsOf({ chains, sets, whenLeftOut = ['drop'] }: NftFragment): NftFragment {
  const rules = [...chains].filter(([name]) => isName(name))
  return {
    chains: new Map(rules.map(([name, [first = '', ...more]]) => [name, isBaseChain([first, ...more]) ? [first] : whenLeftOut])),
    sets: new Map([...sets].filter(([name, declaration]) => isName(name) && isRuleText(declaration.replaceAll(';', '')))),
    elements: new Map(),
  }
}

export function isSameFragment(one: NftFragment, other: NftFragment): boolean {
  return (
    isSameMap(
      one.chains,
      other.chains,
      (rules, others) => rules.length === others.length && rules.every((rule, at) => rule === others[at]),
    ) &&
    isSameMap(one.sets, other.sets, Object.is) &&
    isSameMap(one.elements, other.elements, (values, others) => isSameMap(values, others, Object.is))
  )
}

function isSameMap<T>(one: ReadonlyMap<string, T>, other: ReadonlyMap<string, T>, isSame: (value: T, other: T) => boolean): boolean {
  if (one.size !== other.size) return false
  for (const [key, value] of one) {
    const known = other.get(key)
    if (known === undefined || !isSame(value, known)) return false
  }
  return true
}

/**
 * What in a fragment nft would not read as the one thing it stands for: a name, an element, a rule. Whatever values they were made of, they
 * cannot add a command of their own. Undefined where there is nothing.
 */
export function oddityIn({ chains, sets, elements }: NftFragment): string | undefined {
  for (const [name, rules] of chains) {
    if (!isName(name)) return `${shown(name)} is no name of a chain`
    for (const [index, rule] of rules.entries()) {
      const text = index === 0 && isBaseChain(rules) ? rule.replaceAll(';', '') : rule
      if (!isRuleText(text)) return `${shown(rule)} is no rule`
    }
  }
  for (const [name, declaration] of sets) {
    if (!isName(name) || !isRuleText(declaration.replaceAll(';', ''))) return `${shown(`${name} { ${declaration} }`)} is no set`
  }
  for (const [set, values] of elements) {
    if (!isName(set)) return `${shown(set)} is no name of a set`
    for (const [key, value] of values)
      if (!isElement(key) || !(value === '' || isElement(value))) return `${shown(`${key} : ${value}`)} is no element`
  }
  return undefined
}

/** The kernel keeps up to 255 letters. */
const isName = (text: string): boolean => /^[A-Za-z][\w./-]{0,249}$/.test(text)
const isElement = (text: string): boolean => /^[\w.:/ -]+$/.test(text)
/** Commands are ended by line breaks and semicolons, and nothing else; what follows a # would be lost. */
const isRuleText = (text: string): boolean => !/[;#\\\p{Cc}]/u.test(text)
const shown = (text: string): string => JSON.stringify(text.length > 100 ? `${text.slice(0, 100)}…` : text)
