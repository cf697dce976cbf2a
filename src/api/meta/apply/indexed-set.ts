/**
 * A set of paths that many others are compared with. Operations of plain sets are led by the one that changes little, and walk all keys
 * of it for each: with thousands of owners and thousands of changes that is their product. Here the other side leads.
 */
import {
  differenceOf,
  emptySet,
  type FieldSet,
  type FieldSetDraft,
  intersectionOf,
  isEmptySet,
  isMember,
  leaf,
  withMember,
} from './field-set.ts'
import type { PathElement } from './path-element.ts'

export class ComparedSet {
  readonly set: FieldSet
  readonly #isIndexed: boolean
  #root: Node | undefined

  /** An index is worth its making only where it is used often. */
  constructor(set: FieldSet, uses: number) {
    this.set = set
    this.#isIndexed = uses >= fewestUses
  }

  /** The members of `set` that are not in this one; `set` itself where there are none to leave out. */
  differenceFrom(set: FieldSet): FieldSet {
    return this.#isIndexed ? (difference(set, this.#index) ?? emptySet) : differenceOf(set, this.set)
  }

  /** The members of both. */
  intersectionWith(set: FieldSet): FieldSet {
    return this.#isIndexed ? (intersection(set, this.#index, false) ?? emptySet) : intersectionOf(set, this.set)
  }

  get #index(): Node {
    this.#root ??= nodeOf(this.set)
    return this.#root
  }
}

const fewestUses = 30

type Node = { readonly isMember: boolean; readonly below: ReadonlyMap<PathElement, Node> }

const none: ReadonlyMap<PathElement, Node> = new Map()
const indexedLeaf: Node = { isMember: true, below: none }

function nodeOf(set: FieldSet): Node {
  if (set === leaf || isEmptySet(set)) return indexedLeaf
  const below = new Map<PathElement, Node>()
  for (const element in set) if (element !== '.') below.set(element, nodeOf(set[element] as FieldSet))
  return { isMember: set['.'] !== undefined, below }
}

function difference(left: FieldSet, { below: right }: Node): FieldSet | undefined {
  if (right.size === 0) return left
  let isChanged = false
  let isLeft = false
  const rest: FieldSetDraft = {}
  for (const element in left) {
    const ours = left[element] as FieldSet
    const theirs = element === '.' ? undefined : right.get(element)
    const kept = theirs === undefined ? ours : childDifference(ours, theirs)
    if (kept !== ours) isChanged = true
    if (kept === undefined) continue
    rest[element] = kept
    isLeft ||= element !== '.'
  }
  if (!isChanged) return left
  if (isLeft) return rest
  return left['.'] === undefined ? undefined : leaf
}

function childDifference(ours: FieldSet, theirs: Node): FieldSet | undefined {
  if (isEmptySet(ours)) return theirs.isMember ? undefined : ours
  if (!theirs.isMember || ours['.'] === undefined) return difference(ours, theirs)
  const { '.': _, ...below } = ours
  return difference(below, theirs)
}

function intersection(left: FieldSet, right: Node, member: boolean): FieldSet | undefined {
  const common: FieldSetDraft = {}
  let isCommon = false
  for (const element in left) {
    const theirs = element === '.' ? undefined : right.below.get(element)
    if (theirs === undefined) continue
    const ours = left[element] as FieldSet
    const below = intersection(ours, theirs, theirs.isMember && isMember(ours))
    if (below === undefined) continue
    common[element] = below
    isCommon = true
  }
  if (!isCommon) return member ? leaf : undefined
  return member ? withMember(common) : common
}
