/** Reads the sets of managedFields that come from outside. */
import { isDeeperThan, isObject, maxDepth } from '#api/meta/patch/json-value.ts'
import { type FieldSet, type FieldSetDraft, leaf, ordered, unionOf } from './field-set.ts'
import { canonicalElement } from './path-element.ts'

/** The set in the form it is stored in; kinds of elements that are unknown are left out. Throws on what is no set. */
export function readFieldSet(json: unknown): FieldSet {
  if (isDeeperThan(json, maxDepth)) throw new Error('exceeded max depth')
  const { '.': _, ...root } = readNode(json)
  return ordered(root)
}

function readNode(json: unknown): FieldSet {
  if (json === null) return leaf
  if (!isObject(json)) throw new Error(`expected an object of path elements, got ${JSON.stringify(json)}`)
  const node: FieldSetDraft = {}
  let below = false
  for (const key in json) {
    if (key === '.') {
      node['.'] = leaf
      continue
    }
    const element = canonicalElement(key)
    if (element === undefined) continue
    const child = readNode(json[key])
    const same = node[element]
    node[element] = same === undefined ? child : unionOf(same, child)
    below = true
  }
  return below ? node : leaf
}
