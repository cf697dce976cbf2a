import { kindOfThirdParty, ThirdPartyResource, type V1beta1ThirdPartyResource } from '#api/extensions/v1beta1/third-party-kind.ts'
import type { Check } from '#api/meta/check.ts'
import { defaultColumns } from '#api/meta/columns.ts'
import { dns1035Label } from '#api/meta/names.ts'
import { defineResource } from '#api/resource.ts'

export const thirdPartyResource = defineResource(ThirdPartyResource, {
  deprecated: { deprecatedIn: '1.7', removedIn: '1.8', replacement: 'apiextensions.k8s.io/v1 CustomResourceDefinition' },
  generation: false,
  allowUnconditionalUpdate: true,
  columns: defaultColumns,
  validate: (_object, check) => validateThirdParty(check),
  validateUpdate: (_next, _prev, check) => validateThirdParty(check),
})

function validateThirdParty(check: Check<V1beta1ThirdPartyResource>): void {
  const { metadata, versions = [] } = check.value
  const name = metadata.name ?? ''
  if (name !== '' && kindOfThirdParty(name) === undefined) {
    check.at('metadata').at('name').invalid(`unexpectedly short resource name: ${name}, need at least <kind>.<domain>.<tld>`)
  }
  if (versions.length === 0) check.at('versions').required('must specify at least one version')
  const seen = new Set<string>()
  for (const version of check.at('versions').or([]).items()) {
    const own = version.value.name ?? ''
    const place = version.at('name')
    if (own === '') place.required('must not be empty')
    for (const message of own === '' ? [] : dns1035Label(own)) place.invalid(message)
    if (seen.has(own)) place.duplicate()
    seen.add(own)
  }
}
