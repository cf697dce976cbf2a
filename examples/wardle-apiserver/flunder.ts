/** Flunders refer to another flunder or to a fischer. The old version has one field for both. */
import { type Check, defineServedKind, type KubernetesObject } from '#index.ts'

type ReferenceType = 'Flunder' | 'Fischer'
type OldFlunder = KubernetesObject & { spec?: { reference?: string; referenceType?: ReferenceType } }
type Flunder = KubernetesObject & { spec?: { flunderReference?: string; fischerReference?: string; referenceType?: ReferenceType } }

const text = (description: string) => ({ type: 'string', description })
const schemaOf = (properties: object) => ({
  type: 'object',
  description: 'Flunder is an example of a kind with versions.',
  properties: { spec: { type: 'object', properties }, status: { type: 'object' } },
})

export const flunders = defineServedKind({
  group: 'wardle.example.com',
  kind: 'Flunder',
  plural: 'flunders',
  scope: 'Namespaced',
  versions: {
    v1beta1: {
      isStored: true,
      hasStatus: true,
      schema: schemaOf({
        flunderReference: text('The name of another flunder; not together with fischerReference.'),
        fischerReference: text('The name of a fischer; not together with flunderReference.'),
        referenceType: text('Flunder or Fischer.'),
      }),
      validate: validateFlunder,
      validateUpdate: (next: Flunder, _prev: Flunder, check: Check<Flunder>) => validateFlunder(next, check),
    },
    v1alpha1: {
      hasStatus: true,
      schema: schemaOf({
        reference: text('The name of another flunder or fischer, by the type of the reference.'),
        referenceType: text('Flunder, unless said, where there is a reference.'),
      }),
      defaults({ spec }: OldFlunder) {
        if (spec?.reference && !spec.referenceType) spec.referenceType = 'Flunder'
      },
      validate: validateType,
      validateUpdate: (next: OldFlunder, _prev: OldFlunder, check: Check<OldFlunder>) => validateType(next, check),
    },
  },
  convert: (flunder: OldFlunder & Flunder, toVersion) => (toVersion === 'v1alpha1' ? toOld(flunder) : toNew(flunder)),
})

function toOld({ spec, ...flunder }: Flunder): OldFlunder {
  const { flunderReference, fischerReference, referenceType } = spec ?? {}
  const reference = referenceType === 'Fischer' ? fischerReference : flunderReference
  return { ...flunder, spec: { ...(reference ? { reference } : {}), ...(referenceType ? { referenceType } : {}) } }
}

function toNew({ spec, ...flunder }: OldFlunder): Flunder {
  const { reference, referenceType } = spec ?? {}
  if (!referenceType) return { ...flunder, spec: {} }
  const named = reference ? { [referenceType === 'Fischer' ? 'fischerReference' : 'flunderReference']: reference } : {}
  return { ...flunder, spec: { ...named, referenceType } }
}

function validateFlunder(flunder: Flunder, check: Check<Flunder>): void {
  const { flunderReference = '', fischerReference = '', referenceType = '' } = flunder.spec ?? {}
  const spec = check.dynamic('spec')
  const ofFlunder = (why: string) => spec.dynamic('flunderReference').invalid(why, flunderReference)
  const ofFischer = (why: string) => spec.dynamic('fischerReference').invalid(why, fischerReference)
  if (flunderReference && fischerReference) ofFischer('cannot be set with flunderReference at the same time')
  else if (flunderReference && referenceType !== 'Flunder') ofFlunder('cannot be set if referenceType is not Flunder')
  else if (fischerReference && referenceType !== 'Fischer') ofFischer('cannot be set if referenceType is not Fischer')
  else if (!fischerReference && referenceType === 'Fischer') ofFischer('cannot be empty if referenceType is Fischer')
  else if (!flunderReference && referenceType === 'Flunder') ofFlunder('cannot be empty if referenceType is Flunder')
  validateType(flunder, check)
}

function validateType({ spec }: OldFlunder | Flunder, check: Check<OldFlunder | Flunder>): void {
  const { referenceType } = spec ?? {}
  if (referenceType && referenceType !== 'Flunder' && referenceType !== 'Fischer') {
    check.dynamic('spec').dynamic('referenceType').invalid('must be Flunder or Fischer', referenceType)
  }
}
