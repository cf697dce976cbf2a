/** Makes a definition of every ThirdPartyResource: the old way to say the same. */

import { CustomResourceDefinition } from '#api/apiextensions/v1/kinds.gen.ts'
import type { V1CustomResourceDefinition } from '#api/apiextensions/v1/types.gen.ts'
import { kindOfThirdParty, ThirdPartyResource, type V1beta1ThirdPartyResource } from '#api/extensions/v1beta1/third-party-kind.ts'
import { isAlreadyExists } from '#api/meta/server-response.ts'
import type { ClusterView } from '#apiserver/cluster-view/cluster-view.ts'
import type { Clock } from '#base/clock.ts'
import type { Logger } from '#base/log.ts'
import { omitEmpty } from '#base/omit-empty.ts'

const retryMs = 1000

/** The definition goes with the resource it was made of, and its objects with the definition, as they did. */
export function followThirdPartyResources({ cluster, clock, logger }: { cluster: ClusterView; clock: Clock; logger: Logger }): Disposable {
  const running = new DisposableStack()
  let isOver = false
  running.defer(() => {
    isOver = true
  })
  const migrate = (resource: V1beta1ThirdPartyResource): void => {
    const definition = definitionOf(resource)
    if (isOver || definition === undefined) return
    cluster.create(CustomResourceDefinition, definition).catch((error: unknown) => {
      if (isAlreadyExists(error)) return
      logger.warn('failed to migrate ThirdPartyResource to a CustomResourceDefinition', {
        name: resource.metadata.name ?? '',
        error: String(error),
      })
      clock.after(retryMs, () => migrate(resource))
    })
  }
  running.use(
    cluster.onChange(ThirdPartyResource, (resource, isDeleted) => {
      if (!isDeleted && resource.metadata.deletionTimestamp === undefined) clock.soon(() => migrate(resource))
    }),
  )
  return running
}

function definitionOf({ metadata, description, versions = [] }: V1beta1ThirdPartyResource): V1CustomResourceDefinition | undefined {
  const { name = '', uid = '' } = metadata
  const found = kindOfThirdParty(name)
  if (found === undefined) return undefined
  const { group, kind } = found
  const plural = pluralOf(kind.toLowerCase())
  const openAPIV3Schema = { type: 'object', ...omitEmpty({ description }), 'x-kubernetes-preserve-unknown-fields': true }
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: {
      name: `${plural}.${group}`,
      ownerReferences: [{ apiVersion: 'extensions/v1beta1', kind: 'ThirdPartyResource', name, uid }],
    },
    spec: {
      group,
      scope: 'Namespaced',
      names: { plural, kind },
      versions: versions.map((version, index) => ({
        name: version.name ?? '',
        served: true,
        storage: index === 0,
        schema: { openAPIV3Schema },
      })),
    },
  }
}

/** As it was guessed then. */
function pluralOf(singular: string): string {
  if (singular.endsWith('s')) return `${singular}es`
  return singular.endsWith('y') ? `${singular.slice(0, -1)}ies` : `${singular}s`
}
