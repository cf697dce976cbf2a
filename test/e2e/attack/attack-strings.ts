/** Every string of every kind that a cluster serves, attacked one after another. */
import { defineCustomKind, inTurn, verbsFor } from './attack-fields.ts'
import { attackField, type Cost, placesOf, readVerbs, type Target } from './attack-run.ts'
import { customStrings } from './custom-strings.ts'
import { type LongString, longStrings, type Shape, shapeNames } from './long-strings.ts'

export type StringAttackOptions = {
  /** In bytes. */
  sizes: readonly [usual: number, large: number]
  /** Of these alone; absent: all. */
  isChosen?(field: LongString, index: number): boolean
  /** Every shape and size at every place. */
  isThorough?: boolean
}

/** How many shapes are tried at their largest, each type with others. */
const largeShapes = 2
/** Of how many types one is attacked with verbs other than create. */
const writtenEvery = 3

/**
 * At one place of each type: creates with all shapes, some of them at their largest; for some types one shape, stored if it can be, with all
 * other verbs, and read as YAML and as a table. At the other places creates with a shape in turn.
 */
export async function* attackStrings(target: Target, options: StringAttackOptions): AsyncGenerator<Cost<Shape>> {
  const { sizes, isChosen = () => true, isThorough = false } = options
  const [usual, large] = sizes
  await defineCustomKind(target)
  const fields = [...longStrings(), ...customStrings()]
  const places = await placesOf(target, new Set(fields.map(({ apiVersion }) => apiVersion)))
  const seen = new Set<string>()
  for (const [index, field] of fields.entries()) {
    const place = places.get(`${field.apiVersion} ${field.kind}`)
    if (place === undefined || !isChosen(field, index)) continue
    const isWhole = isThorough || !seen.has(field.type)
    seen.add(field.type)
    const create = (variant: Shape, count: number) => attackField(target, { field, variant, count }, place, ['create'])
    if (!isWhole) {
      yield* create(inTurn(shapeNames, index), usual)
      continue
    }
    for (const shape of shapeNames) yield* create(shape, usual)
    for (let turn = 0; turn < largeShapes; turn++) yield* create(inTurn(shapeNames, index + turn), large)
    if (!isThorough && seen.size % writtenEvery !== 0) continue
    const attack = { field, variant: inTurn(shapeNames, index), count: large }
    yield* attackField(target, attack, place, [...verbsFor(field), ...readVerbs])
  }
}
