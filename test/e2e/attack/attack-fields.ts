/** Every long field of every kind that a cluster serves, attacked one after another. */
import { type Attack, attackField, type Cost, placesOf, send, type Target, type Verb, verbs } from './attack-run.ts'
import { attackedDefinition, customFields } from './custom-fields.ts'
import { type LongField, longFields, variants } from './long-fields.ts'

export type FieldAttackOptions = {
  counts: readonly number[]
  /** Of these fields alone; absent: all. */
  isChosen?(field: LongField, index: number): boolean
  /**
   * Every verb, count and variant at every place where a type stands. Else at one place of each type: all verbs and variants with the first
   * count, and some of them in turn with the others; and creates at the other places.
   */
  isThorough?: boolean
}

export async function* attackFields(target: Target, options: FieldAttackOptions): AsyncGenerator<Cost> {
  const { counts, isChosen = () => true, isThorough = false } = options
  await defineCustomKind(target)
  const fields = [...longFields(), ...customFields()]
  const places = await placesOf(target, new Set(fields.map(({ apiVersion }) => apiVersion)))
  const seen = new Set<string>()
  for (const [index, field] of fields.entries()) {
    const place = places.get(`${field.apiVersion} ${field.kind}`)
    if (place === undefined || !isChosen(field, index)) continue
    const isFirst = !seen.has(field.type)
    seen.add(field.type)
    for (const [step, count] of (isFirst || isThorough ? counts : counts.slice(0, 1)).entries()) {
      const isWhole = isThorough || (isFirst && step === 0)
      const verbs = verbsFor(field)
      const some = isFirst ? (['create', inTurn(verbs, index), inTurn(verbs, index + 3)] as const) : (['create'] as const)
      for (const variant of isWhole ? variants : [inTurn(variants, index)]) {
        const attack: Attack = { field, variant, count }
        yield* attackField(target, attack, place, isWhole ? verbs : some)
      }
    }
  }
}

export function inTurn<T>(all: readonly T[], index: number): T {
  return all[index % all.length] as T
}

/** How lists of custom resources merge nobody knows. */
export function verbsFor({ kind }: Pick<LongField, 'kind'>): readonly Verb[] {
  return kind === 'Attacked' ? verbs.filter((verb) => verb !== 'strategic patch') : verbs
}

export async function defineCustomKind(target: Target): Promise<void> {
  const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
  const { status, text } = await send(target, 'POST', definitions, JSON.stringify(attackedDefinition))
  if (status !== 201 && status !== 409) throw new Error(`the definition is not taken: ${text}`)
  for (let attempt = 0; attempt < 600; attempt++) {
    if ((await send(target, 'GET', '/apis/attack.example.com/v1')).status === 200) return
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  throw new Error('the custom resource is not served')
}
