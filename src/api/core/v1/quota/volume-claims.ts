/** What persistent volume claims use of a quota, together and by storage class. */
import { countName, isSelected, one, type QuotaEvaluator } from '#api/core/v1/quota/evaluator.ts'
import { storageClassOf } from '#api/core/v1/quota/storage-class-of.ts'
import type { Quantities } from '#api/core/v1/resources.ts'
import type { V1PersistentVolumeClaim } from '#api/core/v1/types.gen.ts'
import { compareQuantities, parseQuantity, Quantity } from '#api/meta/quantity.ts'

const claims = { group: '', resource: 'persistentvolumeclaims' }
const count = countName(claims)
const names = ['persistentvolumeclaims', 'requests.storage']
const byClass = '.storageclass.storage.k8s.io/'

export const volumeClaimEvaluator: QuotaEvaluator = {
  ...claims,
  handles({ operation, subresource, object, oldObject }) {
    if (subresource === 'status') return mayUseOther(object as V1PersistentVolumeClaim, oldObject as V1PersistentVolumeClaim)
    return subresource === '' && (operation === 'CREATE' || operation === 'UPDATE')
  },
  matchingNames: (given) =>
    given.filter((name) => name === count || names.includes(name) || names.some((each) => name.endsWith(byClass + each))),
  usage: (object) => volumeClaimUsage(object as V1PersistentVolumeClaim),
  isInScope: (object, selector) =>
    selector.scopeName === 'VolumeAttributesClass' && isSelected(attributesClasses(object as V1PersistentVolumeClaim), selector),
  mayHaveShrunk: (next, prev) => mayUseOther(next as V1PersistentVolumeClaim, prev as V1PersistentVolumeClaim),
}

function volumeClaimUsage(claim: V1PersistentVolumeClaim): Quantities {
  const used: Quantities = { persistentvolumeclaims: one, [count]: one }
  const storage = storageOf(claim)
  if (storage !== undefined) used['requests.storage'] = storage
  const storageClass = storageClassOf(claim)
  if (storageClass === '') return used
  used[`${storageClass}${byClass}persistentvolumeclaims`] = one
  if (storage !== undefined) used[`${storageClass}${byClass}requests.storage`] = storage
  return used
}

/** In whole bytes; what is allocated counts while it is more than what is asked for. */
function storageOf({ spec, status }: V1PersistentVolumeClaim): Quantity | undefined {
  const asked = spec?.resources?.requests?.['storage']
  if (asked === undefined) return undefined
  const allocated = status?.allocatedResources?.['storage']
  return roundedUp(parseQuantity(allocated !== undefined && compareQuantities(allocated, asked) > 0 ? allocated : asked))
}

const roundedUp = (quantity: Quantity): Quantity =>
  quantity.isInteger ? quantity : new Quantity(quantity.scaledValue(0), 0, quantity.format)

function mayUseOther(next: V1PersistentVolumeClaim, prev: V1PersistentVolumeClaim): boolean {
  const allocated = (claim: V1PersistentVolumeClaim) => claim.status?.allocatedResources?.['storage'] ?? '0'
  if (compareQuantities(allocated(next), allocated(prev)) !== 0) return true
  return attributesClasses(next).sort().join() !== attributesClasses(prev).sort().join()
}

/** The class asked for, the one in force, and the one a change is on its way to. */
function attributesClasses({ spec, status }: V1PersistentVolumeClaim): string[] {
  const classes = [
    spec?.volumeAttributesClassName,
    status?.currentVolumeAttributesClassName,
    status?.modifyVolumeStatus?.targetVolumeAttributesClassName,
  ]
  return [...new Set(classes.filter((name) => name !== undefined && name !== '') as string[])]
}
