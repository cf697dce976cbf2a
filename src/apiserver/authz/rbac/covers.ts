import { type CompiledPathRule, CompiledRole, type CompiledRule, coversPath, isIn } from '#apiserver/authz/rbac/compiled-role.ts'
import type { PolicyRule } from '#apiserver/authz/rbac/rbac-objects.ts'
import { atOnce, type Steps } from '#base/steps.ts'

export type Uncovered = {
  /** Each with a single verb, resource and name. */
  readonly parts: PolicyRule[]
  /** Whether that is all: false where it would take too long to find out, or to tell. */
  readonly isComplete: boolean
}

export type CoverLimits = { readonly comparisons: number /** Of the texts of all parts. */; readonly characters: number }

const unlimited: CoverLimits = { comparisons: Number.POSITIVE_INFINITY, characters: Number.POSITIVE_INFINITY }
const comparisonsPerStep = 5_000
/** What a part is told with beside its own texts. */
const labelCharacters = 40

/** The parts of `wanted`, each with a single verb, resource and name, that no single rule of `held` allows. */
export function uncoveredRules(held: readonly PolicyRule[], wanted: readonly PolicyRule[]): PolicyRule[] {
  return atOnce(findingUncovered([new CompiledRole(held)], wanted, unlimited)).parts
}

/**
 * The same of roles. A rule of four short lists has as many parts as their lengths give when multiplied: those that a rule allows for
 * any verb or name are not looked at one by one, and after so many it ends.
 */
export function* findingUncovered(held: readonly CompiledRole[], wanted: readonly PolicyRule[], limits: CoverLimits): Steps<Uncovered> {
  const search = new Search(held, limits)
  for (const rule of wanted) {
    yield* search.resources(rule)
    yield* search.paths(rule)
    if (search.isOver) break
  }
  return { parts: search.parts, isComplete: !search.isOver }
}

class Search {
  readonly parts: PolicyRule[] = []
  readonly #held: readonly CompiledRole[]
  readonly #limits: CoverLimits
  readonly #rulesOf = new Map<string, readonly CompiledRule[]>()
  #pathRules: readonly CompiledPathRule[] | undefined
  #comparisons = 0
  #comparisonsOfStep = 0
  #characters = 0

  constructor(held: readonly CompiledRole[], limits: CoverLimits) {
    this.#held = held
    this.#limits = limits
  }

  get isOver(): boolean {
    return this.#comparisons > this.#limits.comparisons || this.#characters > this.#limits.characters
  }

  *resources(wanted: PolicyRule): Steps<void> {
    const { verbs, apiGroups = [], resources = [], resourceNames: names = [] } = wanted
    if (verbs.length === 0 || apiGroups.length === 0) return
    const isWhole = new Map<CompiledRule, boolean>()
    const left: { resource: string; rules: readonly CompiledRule[] }[] = []
    for (const resource of resources) {
      const rules = this.#rulesFor(resource)
      if (!rules.some((rule) => this.#allowsAll(rule, wanted, isWhole))) left.push({ resource, rules })
      if (this.#isStepOver()) yield
      if (this.isOver) return
    }
    for (const group of apiGroups) {
      for (const { resource, rules } of left) {
        const inGroup = this.#of(rules, ({ groups }) => isIn(groups, group))
        for (const verb of verbs) {
          const forVerb = this.#of(inGroup, (rule) => isIn(rule.verbs, verb))
          if (!forVerb.some((rule) => rule.names === undefined)) {
            const part = { apiGroups: [group], resources: [resource], verbs: [verb] }
            if (names.length === 0) this.#miss(part)
            for (const name of names) {
              this.#count(1 + forVerb.length)
              if (!forVerb.some((rule) => rule.names?.has(name))) this.#miss({ ...part, resourceNames: [name] })
              if (this.#isStepOver()) yield
              if (this.isOver) return
            }
          }
          if (this.#isStepOver()) yield
          if (this.isOver) return
        }
      }
    }
  }

  *paths({ verbs, nonResourceURLs = [] }: PolicyRule): Steps<void> {
    for (const url of nonResourceURLs) {
      this.#pathRules ??= this.#held.flatMap(({ paths }) => paths)
      const ofUrl = this.#of(this.#pathRules, (rule) => {
        this.#count(rule.prefixes.length)
        return coversPath(rule, url)
      })
      for (const verb of verbs) {
        this.#count(1 + ofUrl.length)
        if (!ofUrl.some((rule) => isIn(rule.verbs, verb))) this.#miss({ nonResourceURLs: [url], verbs: [verb] })
        if (this.#isStepOver()) yield
        if (this.isOver) return
      }
    }
  }

  #rulesFor(resource: string): readonly CompiledRule[] {
    let rules = this.#rulesOf.get(resource)
    if (rules === undefined) {
      rules = this.#held.flatMap((role) => role.rulesOf(resource))
      this.#count(this.#held.length + rules.length)
      this.#rulesOf.set(resource, rules)
    }
    return rules
  }

  /** Of a resource that the rule speaks of. `known` are those of the same wanted rule. */
  #allowsAll(rule: CompiledRule, wanted: PolicyRule, known: Map<CompiledRule, boolean>): boolean {
    let allows = known.get(rule)
    if (allows === undefined) {
      const { verbs, apiGroups = [], resourceNames = [] } = wanted
      const namesAny = resourceNames.length === 0
      allows =
        (namesAny ? rule.names === undefined : this.#hasAll(rule.names, resourceNames)) &&
        this.#hasAll(rule.groups, apiGroups) &&
        this.#hasAll(rule.verbs, verbs)
      known.set(rule, allows)
    }
    this.#count(1)
    return allows
  }

  #hasAll(held: ReadonlySet<string> | undefined, wanted: readonly string[]): boolean {
    if (held === undefined) return true
    const missing = wanted.findIndex((value) => !held.has(value))
    this.#count(missing < 0 ? wanted.length : missing)
    return missing < 0
  }

  #of<R>(rules: readonly R[], isMeant: (rule: R) => boolean): R[] {
    this.#count(1 + rules.length)
    return rules.filter(isMeant)
  }

  #miss(part: PolicyRule): void {
    this.parts.push(part)
    this.#characters += labelCharacters
    for (const texts of [part.apiGroups, part.resources, part.nonResourceURLs, part.resourceNames, part.verbs]) {
      this.#characters += texts?.[0]?.length ?? 0
    }
  }

  #count(comparisons: number): void {
    this.#comparisons += comparisons
    this.#comparisonsOfStep += comparisons
  }

  #isStepOver(): boolean {
    if (this.#comparisonsOfStep < comparisonsPerStep) return false
    this.#comparisonsOfStep = 0
    return true
  }
}
