/** Which fields a write through one endpoint can come to own. */
import { type FieldSet, type FieldSetDraft, isMember, leaf, setOfPaths, subtreeDifferenceOf, withMember } from './field-set.ts'
import { fieldElement, type PathElement } from './path-element.ts'

export type FieldFilter = (set: FieldSet) => FieldSet

/** Leaves out the fields that the endpoint resets, and what is in them: `status`, `metadata.finalizers`. */
export function allBut(paths: readonly string[]): FieldFilter {
  const excluded = setOfPaths(paths.map((path) => path.split('.').map(fieldElement)))
  return (set) => subtreeDifferenceOf(set, excluded)
}

/** Keeps only these fields and what is in them; `*` stands for any item: `spec.containers.*.resources`. */
export function onlyThese(paths: readonly string[]): FieldFilter {
  const pattern: Pattern = { below: new Map() }
  for (const path of paths) {
    let node = pattern
    for (const step of path.split('.')) {
      const element = step === '*' ? '*' : fieldElement(step)
      const next: Pattern = node.below.get(element) ?? { below: new Map() }
      node.below.set(element, next)
      node = next
    }
  }
  return (set) => matching(set, pattern)
}

/** Without anything below, all matches. */
type Pattern = { below: Map<PathElement | '*', Pattern> }

function matching(set: FieldSet, pattern: Pattern): FieldSet {
  if (pattern.below.size === 0) return set
  const kept: FieldSetDraft = {}
  for (const element in set) {
    const wanted = pattern.below.get('*') ?? pattern.below.get(element)
    if (element === '.' || wanted === undefined) continue
    const node = set[element] as FieldSet
    const below = matching(node, wanted)
    const hasBelow = Object.keys(below).some((each) => each !== '.')
    if (isMember(node)) kept[element] = hasBelow ? withMember(below) : leaf
    else if (hasBelow) kept[element] = below
  }
  return kept
}
