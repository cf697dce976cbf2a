import { isExtendedResource } from '#api/core/v1/resource-names.ts'
import type { Check } from '#api/meta/check.ts'
import { ageColumn, nameColumn } from '#api/meta/columns.ts'
import { equalityOf } from '#api/meta/equality.ts'
import { nameIsLongName } from '#api/meta/names.ts'
import { validateObjectMeta, validateObjectMetaUpdate } from '#api/meta/object-meta.ts'
import { boundedList } from '#api/resource/v1/bounded.ts'
import { validateDeviceConfiguration } from '#api/resource/v1/device-configuration.ts'
import { compileSelectors, maxSelectors, validateDeviceSelectors } from '#api/resource/v1/device-selectors.ts'
import { DeviceClass } from '#api/resource/v1/kinds.gen.ts'
import type { V1DeviceClass, V1DeviceClassSpec } from '#api/resource/v1/types.gen.ts'
import { defineResource, type RuleContext } from '#api/resource.ts'
import type { Steps } from '#base/steps.ts'

const sameConfig = equalityOf(DeviceClass).at('spec').at('config')

const maxConfigurations = 32

export const deviceClassResource = defineResource(DeviceClass, {
  nameRule: nameIsLongName,
  allowUnconditionalUpdate: true,
  defaultPropagation: 'Background',
  returnsDeletedObject: true,

  defaults(deviceClass) {
    deviceClass.spec ??= {}
  },
  prepareForCreate: (deviceClass, context) => dropDisabledFields(deviceClass, undefined, context),
  *validate(_object, check) {
    yield* validateSpec(check.at('spec'), undefined)
  },
  generation: 'spec',
  revalidatesMetadata: false,
  prepareForUpdate: dropDisabledFields,
  *validateUpdate(_next, prev, check) {
    validateObjectMeta(check.at('metadata'), { scope: 'Cluster', nameRule: nameIsLongName })
    validateObjectMetaUpdate(check.at('metadata'), prev.metadata)
    yield* validateSpec(check.at('spec'), prev.spec)
  },

  columns: [nameColumn, ageColumn],
})

function dropDisabledFields(next: V1DeviceClass, prev: V1DeviceClass | undefined, { isEnabled }: RuleContext): void {
  if (!isEnabled('DRAExtendedResource') && prev?.spec.extendedResourceName === undefined) delete next.spec.extendedResourceName
}

function* validateSpec(check: Check<V1DeviceClassSpec>, prev: V1DeviceClassSpec | undefined): Steps<void> {
  const spec = check.value
  yield* compileSelectors((spec.selectors ?? []).slice(0, maxSelectors))
  validateDeviceSelectors(check.at('selectors'))
  const configIsStored = prev !== undefined && sameConfig(spec.config, prev.config)
  boundedList(check.at('config').with(spec.config), maxConfigurations, (at) => validateDeviceConfiguration(at, configIsStored))
  const { extendedResourceName } = spec
  if (extendedResourceName !== undefined && !isExtendedResource(extendedResourceName)) {
    check.at('extendedResourceName').invalid('must be a valid extended resource name')
  }
}
