/**
 * Sets of paths, held as managedFields write them: `{"f:spec":{"f:replicas":{}}}`. A node without keys is a member of
 * the set; a node with keys is one only if `.` is among them. The root is no member, and without keys it is empty.
 *
 * Sets are never changed. Every operation hands back its argument, or parts of it, where nothing is different, so that
 * an entry nobody touched stays the same object. Keys come in any order; `ordered` puts them in the one that is stored.
 */
import type { Steps } from '#base/steps.ts'
import { compareElements, type PathElement, readElement } from './path-element.ts'

export type FieldSet = { readonly [element: PathElement]: FieldSet }
/** A set while it is being built. */
export type FieldSetDraft = { [element: PathElement]: FieldSet }

export const leaf: FieldSet = Object.freeze({})
export const emptySet: FieldSet = leaf

export function isEmptySet(set: FieldSet): boolean {
  for (const _ in set) return false
  return true
}

/** Whether the node stands for a member of the set, and not only for what lies below it. */
export function isMember(node: FieldSet): boolean {
  return node['.'] !== undefined || isEmptySet(node)
}

export function setOfPaths(paths: readonly (readonly PathElement[])[]): FieldSet {
  return paths.reduce<FieldSet>((set, path) => unionOf(set, pathSet(path)), emptySet)
}

function pathSet(path: readonly PathElement[]): FieldSet {
  return path.reduceRight<FieldSet>((below, element) => ({ [element]: below }), leaf)
}

export function hasPath(set: FieldSet, path: readonly PathElement[]): boolean {
  let node: FieldSet | undefined = set
  for (const element of path) {
    node = node[element]
    if (node === undefined) return false
  }
  return path.length > 0 && isMember(node)
}

export function unionOf(left: FieldSet, right: FieldSet): FieldSet {
  if (left === right || isEmptySet(right)) return left
  return isEmptySet(left) ? right : unionOfNodes(left, right)
}

/** The union of many, by pairs: that of a long set and a short one takes as long as a copy of the long one. */
export function* uniting(sets: readonly FieldSet[]): Steps<FieldSet> {
  let left = sets
  while (left.length > 1) {
    const pairs: FieldSet[] = []
    for (let index = 0; index < left.length; index += 2) {
      pairs.push(unionOf(left[index] ?? emptySet, left[index + 1] ?? emptySet))
      yield
    }
    left = pairs
  }
  return left[0] ?? emptySet
}

/** The union of what lies at and below two nodes. */
export function unionOfNodes(left: FieldSet, right: FieldSet): FieldSet {
  if (left === right) return left
  if (isEmptySet(right)) return withMember(left)
  if (isEmptySet(left)) return withMember(right)
  let union: FieldSetDraft | undefined
  for (const element in right) {
    const ours = left[element]
    const theirs = right[element] as FieldSet
    const both = ours === undefined ? theirs : unionOfNodes(ours, theirs)
    if (both === ours) continue
    union ??= { ...left }
    union[element] = both
  }
  return union ?? left
}

/** The node as a member, with all that lies below it. */
export function withMember(node: FieldSet): FieldSet {
  return isMember(node) ? node : { '.': leaf, ...node }
}

/** The members of `left` that are not members of `right`. */
export function differenceOf(left: FieldSet, right: FieldSet): FieldSet {
  if (isEmptySet(left) || isEmptySet(right)) return left
  return nodeDifference(left, right, false) ?? emptySet
}

/** The same, but what lies below a member of `right` goes with it. */
export function subtreeDifferenceOf(left: FieldSet, right: FieldSet): FieldSet {
  if (isEmptySet(left) || isEmptySet(right)) return left
  return nodeDifference(left, right, true) ?? emptySet
}

function nodeDifference(left: FieldSet, right: FieldSet, subtrees: boolean): FieldSet | undefined {
  let changes: Map<PathElement, FieldSet | undefined> | undefined
  // The right side leads: mostly a few changes are taken from a big set.
  for (const element in right) {
    const ours = left[element]
    if (ours === undefined) continue
    const kept = element === '.' ? undefined : childDifference(ours, right[element] as FieldSet, subtrees)
    if (kept === ours) continue
    changes ??= new Map()
    changes.set(element, kept)
  }
  if (changes === undefined) return left
  const rest: FieldSetDraft = {}
  let below = false
  let member = false
  for (const element in left) {
    const node = changes.has(element) ? changes.get(element) : left[element]
    if (node === undefined) continue
    rest[element] = node
    if (element === '.') member = true
    else below = true
  }
  if (below) return rest
  return member ? leaf : undefined
}

function childDifference(ours: FieldSet, theirs: FieldSet, subtrees: boolean): FieldSet | undefined {
  const theirsIsMember = isMember(theirs)
  if (subtrees && theirsIsMember) return undefined
  if (isEmptySet(ours)) return theirsIsMember ? undefined : ours
  if (isEmptySet(theirs)) return withoutMember(ours)
  return nodeDifference(ours, theirs, subtrees)
}

function withoutMember(node: FieldSet): FieldSet {
  if (node['.'] === undefined) return node
  const { '.': _, ...below } = node
  return below
}

/** The members of both. */
export function intersectionOf(left: FieldSet, right: FieldSet): FieldSet {
  if (isEmptySet(left) || isEmptySet(right)) return emptySet
  return nodeIntersection(left, right, false) ?? emptySet
}

function nodeIntersection(left: FieldSet, right: FieldSet, member: boolean): FieldSet | undefined {
  const common: FieldSetDraft = {}
  for (const element in right) {
    const ours = left[element]
    if (ours === undefined || element === '.') continue
    const theirs = right[element] as FieldSet
    const below = nodeIntersection(ours, theirs, isMember(ours) && isMember(theirs))
    if (below !== undefined) common[element] = below
  }
  if (isEmptySet(common)) return member ? leaf : undefined
  return member ? { '.': leaf, ...common } : common
}

/** Whether every member of `small` is one of `big`. */
export function isSubset(small: FieldSet, big: FieldSet): boolean {
  for (const element in small) {
    if (element === '.') continue
    const ours = small[element] as FieldSet
    const theirs = big[element]
    if (theirs === undefined || (isMember(ours) && !isMember(theirs)) || !isSubset(ours, theirs)) return false
  }
  return true
}

/** Every member, those of a level before those below it. */
export function pathsOf(set: FieldSet): PathElement[][] {
  const found: PathElement[][] = []
  const visit = (node: FieldSet, prefix: PathElement[]): void => {
    const elements = sortedElements(node)
    for (const element of elements) if (isMember(node[element] as FieldSet)) found.push([...prefix, element])
    for (const element of elements) visit(node[element] as FieldSet, [...prefix, element])
  }
  visit(set, [])
  return found
}

/** The same set with its elements in the order they are stored in. Parts that it shares with `known` are in order. */
export function ordered(set: FieldSet, known?: FieldSet): FieldSet {
  if (set === known) return set
  let result: FieldSetDraft | undefined
  const inOrder = isInOrder(set)
  const elements = inOrder ? Object.keys(set) : sortedElements(set)
  if (!inOrder) {
    result = {}
    if (set['.'] !== undefined) result['.'] = leaf
  }
  for (const element of elements) {
    const child = set[element] as FieldSet
    const sorted = child === leaf ? child : ordered(child, known?.[element])
    if (sorted !== child) result ??= { ...set }
    if (result !== undefined) result[element] = sorted
  }
  return result ?? set
}

function isInOrder(set: FieldSet): boolean {
  let last: PathElement | undefined
  for (const element in set) {
    if (element === '.') {
      if (last !== undefined) return false
      continue
    }
    if (last !== undefined && !isBefore(last, element)) return false
    last = element
  }
  return true
}

function isBefore(left: PathElement, right: PathElement): boolean {
  if (left[0] === 'f' && right[0] === 'f') return left < right
  return compareElements(readElement(left), readElement(right)) < 0
}

function sortedElements(node: FieldSet): PathElement[] {
  const elements = Object.keys(node).filter((element) => element !== '.')
  if (elements.length < 2) return elements
  if (elements.every((element) => element[0] === 'f')) return elements.sort()
  return elements
    .map(readElement)
    .sort(compareElements)
    .map(({ element }) => element)
}
