/** Fits sets of paths to the schema: for pruning, and after a type changed from owned by parts to owned as a whole. */
import { type FieldSet, type FieldSetDraft, isEmptySet, leaf, withMember } from './field-set.ts'
import { deducedType, type MergeType } from './merge-type.ts'
import type { PathElement } from './path-element.ts'

/** The set with every struct on the way to a member, which sets leave out, a member as well. */
export function withStructs(set: FieldSet, type: MergeType | undefined): FieldSet {
  let result: FieldSetDraft | undefined
  for (const element in set) {
    const node = set[element] as FieldSet
    if (element === '.' || isEmptySet(node)) continue
    const below = withStructs(node, typeAt(type, element))
    const filled = isNamedField(type, element) ? withMember(below) : below
    if (filled === node) continue
    result ??= { ...set }
    result[element] = filled
  }
  return result ?? set
}

function isNamedField(type: MergeType | undefined, element: PathElement): boolean {
  return type?.map?.fieldsByElement.has(element) === true
}

function typeAt(type: MergeType | undefined, element: PathElement): MergeType | undefined {
  if (element[0] !== 'f') return type?.list?.element
  const map = type?.map
  return map?.fieldsByElement.get(element)?.type ?? map?.element
}

/** The set for the schema as it is now: whoever owned a part of what has become atomic owns the whole. */
export function reconciled(set: FieldSet, type: MergeType): FieldSet {
  let fitting = fittingSets.get(type)
  if (fitting?.has(set)) return set
  const result = refitted(set, type)
  if (result === set) {
    fitting ??= new WeakSet()
    fittingSets.set(type, fitting)
    fitting.add(set)
  }
  return result
}

/** Entries stay the same objects through writes that leave them alone, and need not be walked again. */
const fittingSets = new WeakMap<MergeType, WeakSet<FieldSet>>()

function refitted(set: FieldSet, type: MergeType): FieldSet {
  let result: FieldSetDraft | undefined
  for (const element in set) {
    const node = set[element] as FieldSet
    if (element === '.' || isEmptySet(node)) continue
    const below = typeAt(type, element)
    if (below === undefined) continue
    const form = below.map ?? (below.scalar === undefined ? below.list : undefined)
    if (form === undefined) continue
    // Types that hold anything cannot change in this way.
    if (form.kind === 'map' && form.fields.size === 0 && form.element === deducedType) continue
    const fitting = form.atomic ? leaf : refitted(node, below)
    if (fitting === node) continue
    result ??= { ...set }
    result[element] = fitting
  }
  return result ?? set
}
