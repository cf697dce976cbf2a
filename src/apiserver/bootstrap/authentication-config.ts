/** The config map from which extension servers learn whose certificates and headers to believe. */
import { ConfigMap } from '#api/core/v1/kinds.gen.ts'
import type { V1ConfigMap } from '#api/core/v1/types.gen.ts'
import { deepCopy } from '#api/meta/deep-copy.ts'
import { equalJson } from '#api/meta/patch/json-value.ts'
import type { FrontProxy } from '#apiserver/access/front-proxy.ts'
import { serverContext } from '#apiserver/registry/registries.ts'
import type { ApiServer } from '#apiserver/server.ts'

const namespace = 'kube-system'
const name = 'extension-apiserver-authentication'

type Data = Readonly<Record<string, string>>

/** Makes it, or adds to it what this server believes: others may have other authorities, and each must be believed. */
export async function ensureAuthenticationConfig(server: ApiServer, clientCa: string, frontProxy: FrontProxy): Promise<void> {
  const wanted = authenticationData(clientCa, frontProxy)
  const existing = await server.cluster.getFresh(ConfigMap, namespace, name)
  const registry = server.registries.of(ConfigMap)
  if (existing === undefined) {
    const object: V1ConfigMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace }, data: { ...wanted } }
    // Refused where another server has just made it, which does not hold yet what this one believes: the next attempt adds it.
    await registry.create(object, serverContext(registry.definition, namespace))
    return
  }
  const data = mergedData(existing.data ?? {}, wanted)
  if (equalJson(data, existing.data ?? {})) return
  await registry.change(name, serverContext(registry.definition, namespace), {
    retriesConflicts: true,
    transform: (prev) => ({ ...deepCopy(prev), data: mergedData(prev.data ?? {}, wanted) }),
  })
}

function authenticationData(clientCa: string, proxy: FrontProxy): Data {
  const ofClients: Data = clientCa === '' ? {} : { 'client-ca-file': clientCa }
  // Without an authority no proxy is believed, whatever its headers are called.
  if (proxy.authority() === '') return ofClients
  return {
    ...ofClients,
    'requestheader-client-ca-file': proxy.authority(),
    'requestheader-allowed-names': JSON.stringify(proxy.allowedNames),
    'requestheader-username-headers': JSON.stringify(proxy.usernameHeaders),
    'requestheader-group-headers': JSON.stringify(proxy.groupHeaders),
    'requestheader-extra-headers-prefix': JSON.stringify(proxy.extraHeaderPrefixes),
    'requestheader-uid-headers': JSON.stringify(proxy.uidHeaders),
  }
}

export function mergedData(existing: Data, wanted: Data): Record<string, string> {
  const merged: Record<string, string> = { ...existing }
  for (const [key, value] of Object.entries(wanted)) {
    merged[key] = key.endsWith('-ca-file') ? mergedCertificates(existing[key] ?? '', value) : mergedList(existing[key], value)
  }
  return merged
}

const certificates = (pem: string): string[] => pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []

function mergedCertificates(existing: string, wanted: string): string {
  const known = new Set(certificates(existing).map((each) => each.trim()))
  const added = certificates(wanted).filter((each) => !known.has(each.trim()))
  return added.length === 0 && known.size > 0 ? existing : `${[...known, ...added].join('\n')}\n`
}

function mergedList(existing: string | undefined, wanted: string): string {
  try {
    const known: unknown = JSON.parse(existing ?? '[]')
    if (!Array.isArray(known)) return wanted
    const all = [...new Set([...known, ...(JSON.parse(wanted) as string[])])]
    return all.length === known.length ? (existing ?? wanted) : JSON.stringify(all)
  } catch {
    // What somebody else has spoilt is written anew.
    return wanted
  }
}
