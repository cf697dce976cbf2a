import { customResourceDefinitionResource as customResourceDefinitionV1 } from '#api/apiextensions/v1/custom-resource-definition.ts'
import type { V1CustomResourceDefinition } from '#api/apiextensions/v1/types.gen.ts'
import { definitionFromV1, definitionToV1 } from '#api/apiextensions/v1beta1/convert-definition.ts'
import type { V1beta1CustomResourceDefinition } from '#api/apiextensions/v1beta1/types.gen.ts'
import { legacyVersion } from '#api/meta/legacy-version.ts'

export const customResourceDefinitionResource = legacyVersion<V1beta1CustomResourceDefinition, V1CustomResourceDefinition>(
  customResourceDefinitionV1,
  {
    version: 'v1beta1',
    deprecated: { deprecatedIn: '1.16', removedIn: '1.22' },

    defaults({ spec }) {
      if (spec === undefined) return
      spec.scope ||= 'Namespaced'
      if (!spec.versions?.length && spec.version) spec.versions = [{ name: spec.version, served: true, storage: true }]
      spec.version ||= spec.versions?.[0]?.name ?? ''
      spec.conversion ??= { strategy: 'None' }
      if (spec.conversion.strategy === 'Webhook' && !spec.conversion.conversionReviewVersions?.length) {
        spec.conversion.conversionReviewVersions = ['v1beta1']
      }
      spec.preserveUnknownFields ??= true
    },
    toStored: definitionToV1,
    fromStored: definitionFromV1,
  },
)
