/** Label selectors, from text (`app=web,tier in (a,b)`) or from their object form, made ready to match many objects. */
import type { V1LabelSelector, V1LabelSelectorRequirement } from '#api/meta/v1/types.gen.ts'
import { quoted } from './check.ts'
import {
  type LabelOperator,
  type LabelRequirement,
  type Labels,
  type Matcher,
  requirementMatcher,
  requirementText,
  SelectorError,
  validRequirement,
} from './label-requirement.ts'
import { parseRequirements } from './label-selector-parser.ts'

const noLabels: Labels = {}

/** All requirements must hold. Immutable. */
export class LabelSelector {
  /** Sorted by key. */
  readonly requirements: readonly LabelRequirement[]
  readonly #matches: Matcher
  #text: string | undefined

  /** The requirements must be valid. */
  constructor(requirements: readonly LabelRequirement[], matcher?: Matcher) {
    this.requirements = requirements.toSorted((one, other) => (one.key < other.key ? -1 : one.key > other.key ? 1 : 0))
    this.#matches = matcher ?? matcherOf(this.requirements)
  }

  matches(labels: Labels | undefined): boolean {
    return this.#matches(labels ?? noLabels)
  }

  /** Matches everything. */
  get isEmpty(): boolean {
    return this.requirements.length === 0 && this !== nothing
  }

  /** The one value this label must have, for indexes; undefined when there is none or several. */
  requiredValue(key: string): string | undefined {
    const requirement = this.requirements.find((each) => each.key === key)
    if (requirement === undefined || !['=', '==', 'in'].includes(requirement.operator) || requirement.values.length !== 1) return undefined
    return requirement.values[0]
  }

  toString(): string {
    this.#text ??= this.requirements.map(requirementText).join(',')
    return this.#text
  }
}

export const everything: LabelSelector = new LabelSelector([])
export const nothing: LabelSelector = new LabelSelector([], () => false)

/** Throws a SelectorError in upstream's words. */
export function parseLabelSelector(text: string): LabelSelector {
  return text === '' ? everything : new LabelSelector(parseRequirements(text))
}

/** An absent selector selects nothing, an empty one everything. Throws a SelectorError. */
export function labelSelectorFrom(selector: V1LabelSelector | undefined | null): LabelSelector {
  if (selector === undefined || selector === null) return nothing
  const requirements: LabelRequirement[] = []
  for (const key in selector.matchLabels) requirements.push(validRequirement(key, '=', [selector.matchLabels[key] ?? '']))
  for (const { key, operator, values } of selector.matchExpressions ?? []) {
    const known = operators[operator]
    if (known === undefined) throw new SelectorError(`${quoted(operator)} is not a valid label selector operator`)
    requirements.push(validRequirement(key, known, values ?? []))
  }
  return requirements.length === 0 ? everything : new LabelSelector(requirements)
}

const operators: Record<string, LabelOperator> = { In: 'in', NotIn: 'notin', Exists: 'exists', DoesNotExist: '!' }

/** For selectors that are plain maps: services, replication controllers. An absent or empty map selects everything. */
export function labelSelectorFromMap(labels: Labels | undefined): LabelSelector {
  const requirements = Object.entries(labels ?? {}).map(([key, value]): LabelRequirement => ({ key, operator: '=', values: [value] }))
  return requirements.length === 0 ? everything : new LabelSelector(requirements)
}

const remembered = new WeakMap<object, LabelSelector>()

/** For selectors of objects that nobody changes any more, such as those in caches: each is made ready once, however often it is asked. */
export function cachedSelector(selector: V1LabelSelector | undefined | null): LabelSelector {
  return selector === undefined || selector === null ? nothing : remembered.getOrInsertComputed(selector, () => labelSelectorFrom(selector))
}
/** The same for plain maps. */
export function cachedSelectorFromMap(labels: Labels | undefined): LabelSelector {
  return labels === undefined ? everything : remembered.getOrInsertComputed(labels, () => labelSelectorFromMap(labels))
}

/** As tables show it. */
export function labelSelectorText(selector: V1LabelSelector | undefined): string {
  try {
    return labelSelectorFrom(selector).toString() || '<none>'
  } catch {
    return '<error>'
  }
}

/** `a=b,c=d`, sorted; `<none>` for none, as tables show it. */
export function labelsText(labels: Labels | undefined): string {
  const pairs = Object.entries(labels ?? {}).map(([key, value]) => `${key}=${value}`)
  return pairs.sort().join(',') || '<none>'
}

/** The object form of a selector in text. Throws a SelectorError. */
export function labelSelectorObject(text: string): V1LabelSelector {
  const matchLabels: { [key: string]: string } = {}
  const matchExpressions: V1LabelSelectorRequirement[] = []
  for (const { key, operator, values } of requirementsOf(text)) {
    if (operator === '=' || operator === '==') matchLabels[key] = values[0] ?? ''
    else {
      const name = Object.keys(operators).find((each) => operators[each] === operator)
      if (name === undefined) throw new SelectorError(`${quoted(operator)} isn't supported in label selectors`)
      matchExpressions.push({ key, operator: name, values: [...values] })
    }
  }
  return { matchLabels, matchExpressions }
}

function requirementsOf(text: string): readonly LabelRequirement[] {
  try {
    return parseLabelSelector(text).requirements
  } catch (error) {
    throw new SelectorError(`couldn't parse the selector string "${text}": ${(error as Error).message}`)
  }
}

function matcherOf(requirements: readonly LabelRequirement[]): Matcher {
  const matchers = requirements.map(requirementMatcher)
  const [first, second] = matchers
  if (first === undefined) return () => true
  if (second === undefined) return first
  if (matchers.length === 2) return (labels) => first(labels) && second(labels)
  if (matchers.length > fewRequirements) return matcherByKey(requirements)
  return (labels) => {
    for (const matcher of matchers) if (!matcher(labels)) return false
    return true
  }
}

const fewRequirements = 8

/** Objects have few labels: of thousands of requirements those about other keys need not be looked at for each. */
function matcherByKey(requirements: readonly LabelRequirement[]): Matcher {
  const matchers = new Map<string, Matcher | Matcher[]>()
  const needed = new Set<string>()
  let previous = ''
  // Sorted by key: those that say the same stand together, unless somebody takes pains.
  for (const requirement of requirements) {
    const { key } = requirement
    const text = requirementText(requirement)
    if (text === previous) continue
    previous = text
    const matcher = requirementMatcher(requirement)
    if (!matcher(noLabels)) needed.add(key)
    const known = matchers.get(key)
    if (known === undefined) matchers.set(key, matcher)
    else if (typeof known === 'function') matchers.set(key, [known, matcher])
    else known.push(matcher)
  }
  return (labels) => {
    let found = 0
    for (const key in labels) {
      if (typeof labels[key] !== 'string') continue
      const ofKey = matchers.get(key)
      if (ofKey === undefined) continue
      if (typeof ofKey === 'function' ? !ofKey(labels) : !ofKey.every((matcher) => matcher(labels))) return false
      if (needed.has(key)) found++
    }
    return found === needed.size
  }
}
