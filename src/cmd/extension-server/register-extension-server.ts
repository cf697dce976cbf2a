import { APIService } from '#api/apiregistration/v1/kinds.gen.ts'
import type { V1APIService } from '#api/apiregistration/v1/types.gen.ts'
import type { Client } from '#client/client.ts'
import type { ServedKind } from '#cmd/extension-server/define-served-kind.ts'

export type RegistrationOptions = {
  kinds: readonly ServedKind[]
  service: { namespace: string; name: string; port?: number }
  caBundle: string
  /** The most important first, where not the order they are declared in; upstream's groups are at 16,000 and more. */
  groupPriorityMinimum?: number
}

/** Tells the cluster that the kinds are served behind the service: an APIService for each version, the first one preferred. */
export async function registerExtensionServer(client: Client, options: RegistrationOptions): Promise<void> {
  const { kinds, service, caBundle, groupPriorityMinimum = 2000 } = options
  const versions = new Map<string, { group: string; version: string }>()
  for (const { group, versions: each } of kinds) for (const version of each) versions.set(`${version}.${group}`, { group, version })
  let versionPriority = 200
  for (const [name, { group, version }] of versions) {
    const spec = { group, version, service, caBundle, groupPriorityMinimum, versionPriority: versionPriority-- }
    await client.apply(APIService, { metadata: { name }, spec } as V1APIService, {
      fieldManager: 'typernetes-extension-server',
      force: true,
    })
  }
}
