import { type Claim, ClaimedValues } from '#wire/nftables/claimed-values.ts'
import { emptyFragment, isBaseChain, isMap, isSameFragment, type NftFragment, oddityIn, remainsOf } from '#wire/nftables/nft-fragment.ts'

export type NftFamily = 'ip' | 'ip6' | 'inet'

/** Somebody whose fragment is not in the kernel, and what nft says of it. */
export type LeftOut = { owner: string; why: string }

export type PresentNames = { chains: readonly string[]; sets: readonly { name: string; isMap: boolean }[] }

/**
 * One table of nftables: what its owners want to be in it, and the shortest text that brings the kernel there.
 *
 * A fragment belongs to an owner and is replaced as a whole. Two owners may want the same element: the one whose
 * name sorts first has its way until it goes, and the kernel never sees the other's.
 *
 * A fragment that nft does not take is left out until its owner puts another: nobody's mistake keeps anybody else's rules from the kernel.
 *
 * ```
 * put/remove ──> changes() ──text──> nft ──> settle()      the text was applied
 *                                       └──> everything()  it was not, or nobody knows: begin anew
 * ```
 */
export class NftTable {
  readonly family: NftFamily
  readonly name: string
  /** What is in force, or is to be. */
  readonly #fragments = new Map<string, NftFragment>()
  /** What was wanted by those who are left out. */
  readonly #leftOut = new Map<string, NftFragment>()
  #told: LeftOut[] = []
  /** Who has put something that the kernel has not taken yet: since the last text, and in texts of which nobody knows. */
  readonly #unsettled = new Set<string>()
  readonly #unproven = new Set<string>()
  readonly #chains = new ClaimedValues<readonly string[]>(sameRules)
  readonly #sets = new ClaimedValues<string>()
  readonly #elements = new Map<string, ClaimedValues<string>>()

  constructor(family: NftFamily, name: string) {
    this.family = family
    this.name = name
  }

  put(owner: string, fragment: NftFragment): void {
    const refused = this.#leftOut.get(owner)
    if (refused !== undefined && isSameFragment(refused, fragment)) return
    this.#leftOut.delete(owner)
    const oddity = oddityIn(fragment)
    this.#replace(owner, fragment)
    if (oddity !== undefined) this.leaveOut({ owner, why: oddity })
  }

  #replace(owner: string, fragment: NftFragment): void {
    this.#unsettled.add(owner)
    const previous = this.#fragments.get(owner) ?? emptyFragment()
    this.#fragments.set(owner, fragment)
    this.#chains.replace(owner, previous.chains, fragment.chains)
    this.#sets.replace(owner, previous.sets, fragment.sets)
    for (const set of new Set([...previous.elements.keys(), ...fragment.elements.keys()])) {
      this.#elementsOf(set).replace(owner, previous.elements.get(set) ?? noElements, fragment.elements.get(set) ?? noElements)
    }
  }

  remove(owner: string): void {
    this.#leftOut.delete(owner)
    this.#replace(owner, emptyFragment())
    this.#fragments.delete(owner)
    this.#unsettled.delete(owner)
    this.#unproven.delete(owner)
  }

  /** Until its owner puts another, or all are given another try. */
  leaveOut({ owner, why }: LeftOut): void {
    const fragment = this.#fragments.get(owner)
    if (fragment === undefined || this.#leftOut.has(owner)) return
    this.#replace(owner, remainsOf(fragment))
    this.#leftOut.set(owner, fragment)
    this.#told.push({ owner, why })
  }

  /** What stood in the way of those who are left out may be gone. */
  retryLeftOut(): void {
    for (const [owner, fragment] of [...this.#leftOut]) {
      if (oddityIn(fragment) !== undefined) continue
      this.#leftOut.delete(owner)
      this.#replace(owner, fragment)
    }
  }

  /** Who was left out since this was last asked. */
  takeLeftOut(): LeftOut[] {
    return this.#told.splice(0)
  }

  /** Owners of anything, but of what all others stand on: those whose fragments the kernel has taken before, and those it has not. */
  suspects(): { proven: string[]; unproven: string[] } {
    const all = [...this.#fragments.keys()].filter((owner) => owner !== '' && !this.#leftOut.has(owner))
    const isProven = (owner: string) => !this.#unproven.has(owner) && !this.#unsettled.has(owner)
    return { proven: all.filter(isProven), unproven: all.filter((owner) => !isProven(owner)) }
  }

  /** The kernel has taken all that was settled. */
  prove(): void {
    this.#unproven.clear()
  }

  /** What `anew` would be without some of the owners. */
  anewWithout(owners: ReadonlySet<string>): string {
    const trial = new NftTable(this.family, this.name)
    for (const [owner, fragment] of this.#fragments) trial.#replace(owner, owners.has(owner) ? remainsOf(fragment) : fragment)
    return trial.anew()
  }

  get owners(): IterableIterator<string> {
    return this.#fragments.keys()
  }

  get hasChanges(): boolean {
    return this.#chains.hasChanges || this.#sets.hasChanges || this.#elements.values().some(({ hasChanges }) => hasChanges)
  }

  /** Commands for what has changed since the last time it was settled; empty where nothing has. */
  changes(): string {
    const place = `${this.family} ${this.name}`
    const gone: string[] = []
    const text: string[] = []
    const renewed = new Set<string>()
    for (const { key, before, after } of this.#sets.changes()) {
      // A declaration cannot be changed: the set is made anew, and so is everything that speaks of it.
      if (before !== undefined && after !== undefined) renewed.add(key)
    }
    const lost = this.#sets.changes().filter(({ before, after }) => before !== undefined && after === undefined)
    for (const { key, after } of this.#sets.changes()) {
      if (after !== undefined && !renewed.has(key)) text.push(`add ${kindOf(after)} ${place} ${key} { ${after} }`)
    }
    const chains = this.#chains.changes()
    for (const { key, after } of chains) {
      if (after !== undefined) text.push(`add chain ${place} ${key}${isBaseChain(after) ? ` { ${after[0]} }` : ''}`)
    }
    for (const { key, before, after } of chains) {
      if (before !== undefined) text.push(`flush chain ${place} ${key}`)
      if (after === undefined) gone.push(`delete chain ${place} ${key}`)
    }
    for (const set of renewed) {
      const declaration = this.#sets.get(set) ?? ''
      for (const [chain, rules] of this.#chains.entries()) {
        if (rules.some((rule) => mentions(rule, set)) && !chains.some(({ key }) => key === chain)) {
          chains.push({ key: chain, before: rules, after: rules })
          text.push(`flush chain ${place} ${chain}`)
        }
      }
      text.push(`delete ${kindOf(declaration)} ${place} ${set}`, `add ${kindOf(declaration)} ${place} ${set} { ${declaration} }`)
    }
    for (const [set, claimed] of this.#elements) {
      const isKnown = this.#sets.get(set) !== undefined
      if (!isKnown) continue
      const changed: Claim<string>[] = renewed.has(set)
        ? [...claimed.entries()].map(([key, after]) => ({ key, before: undefined, after }))
        : claimed.changes()
      pushElements(text, `delete element ${place} ${set}`, changed, ({ key, before }) => (before === undefined ? undefined : key))
      pushElements(text, `add element ${place} ${set}`, changed, ({ key, after }) =>
        after === undefined ? undefined : element(key, after),
      )
    }
    for (const { key, after } of chains) for (const rule of ruleLines(after)) text.push(`add rule ${place} ${key} ${rule}`)
    // What is spoken of goes after what spoke of it.
    text.push(...gone, ...lost.map(({ key, before = '' }) => `delete ${kindOf(before)} ${place} ${key}`))
    return text.length === 0 ? '' : `${text.join('\n')}\n`
  }

  /** Commands that make the table anew, in one step: whatever was in it is gone. */
  anew(): string {
    const place = `${this.family} ${this.name}`
    return `add table ${place}\ndelete table ${place}\n${this.everything({ chains: [], sets: [] }, () => false)}`
  }

  /**
   * Commands that bring the table to this state in one step, from what is `present` in it. Sets that one `keeps` stay with
   * the elements they have.
   */
  everything(present: PresentNames, keeps: (set: string) => boolean): string {
    const place = `${this.family} ${this.name}`
    const text = [`add table ${place}`, ...present.chains.map((chain) => `flush chain ${place} ${chain}`)]
    for (const { name, isMap: wasMap } of present.sets) {
      if (!keeps(name) || this.#sets.get(name) === undefined) text.push(`flush ${wasMap ? 'map' : 'set'} ${place} ${name}`)
    }
    for (const [set, declaration] of this.#sets.entries()) text.push(`add ${kindOf(declaration)} ${place} ${set} { ${declaration} }`)
    for (const [chain, rules] of this.#chains.entries()) {
      text.push(`add chain ${place} ${chain}${isBaseChain(rules) ? ` { ${rules[0]} }` : ''}`)
    }
    for (const [set, claimed] of this.#elements) {
      const all = [...claimed.entries()].map(([key, after]): Claim<string> => ({ key, before: undefined, after }))
      pushElements(text, `add element ${place} ${set}`, all, ({ key, after = '' }) => element(key, after))
    }
    for (const [chain, rules] of this.#chains.entries()) {
      for (const rule of ruleLines(rules)) text.push(`add rule ${place} ${chain} ${rule}`)
    }
    for (const chain of present.chains) if (this.#chains.get(chain) === undefined) text.push(`delete chain ${place} ${chain}`)
    for (const { name, isMap: wasMap } of present.sets) {
      if (this.#sets.get(name) === undefined) text.push(`delete ${wasMap ? 'map' : 'set'} ${place} ${name}`)
    }
    return `${text.join('\n')}\n`
  }

  /** What was wanted is now so. */
  settle(): void {
    for (const owner of this.#unsettled) this.#unproven.add(owner)
    this.#unsettled.clear()
    this.#chains.settle()
    this.#sets.settle()
    for (const claimed of this.#elements.values()) claimed.settle()
  }

  #elementsOf(set: string): ClaimedValues<string> {
    let claimed = this.#elements.get(set)
    if (claimed === undefined) {
      claimed = new ClaimedValues()
      this.#elements.set(set, claimed)
    }
    return claimed
  }
}

const noElements: ReadonlyMap<string, string> = new Map()
/** One command holds so many elements at most: nft's own lists grow slow. */
const elementsInCommand = 5000

function sameRules(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((rule, index) => rule === other[index])
}

const kindOf = (declaration: string): 'map' | 'set' => (isMap(declaration) ? 'map' : 'set')
const element = (key: string, value: string): string => (value === '' ? key : `${key} : ${value}`)
const mentions = (rule: string, set: string): boolean => rule.split(/\s+/).includes(`@${set}`)

function ruleLines(rules: readonly string[] | undefined): readonly string[] {
  return rules === undefined ? [] : isBaseChain(rules) ? rules.slice(1) : rules
}

function pushElements(
  text: string[],
  command: string,
  claims: readonly Claim<string>[],
  written: (claim: Claim<string>) => string | undefined,
): void {
  const all = claims.map(written).filter((each) => each !== undefined)
  for (let from = 0; from < all.length; from += elementsInCommand) {
    text.push(`${command} { ${all.slice(from, from + elementsInCommand).join(', ')} }`)
  }
}
