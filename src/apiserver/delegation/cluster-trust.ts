/** Whose certificates and headers an extension server believes: what the cluster says in its config map, now and later. */
import { X509Certificate } from 'node:crypto'
import { ConfigMap } from '#api/core/v1/kinds.gen.ts'
import type { V1ConfigMap } from '#api/core/v1/types.gen.ts'
import type { RequestHeaderOptions } from '#apiserver/authn/request-header.ts'
import type { Clock } from '#base/clock.ts'
import type { Logger } from '#base/log.ts'
import type { Random } from '#base/random.ts'
import type { Client } from '#client/client.ts'
import { Informer } from '#client/informer/informer.ts'

export type ClusterTrust = {
  /** PEM, of client certificates and of proxies. */
  readonly authorities: readonly string[]
  readonly clients: readonly X509Certificate[]
  readonly proxies: Omit<RequestHeaderOptions, 'clock'>
}

const namespace = 'kube-system'
const name = 'extension-apiserver-authentication'

/** Resolves once it is known; calls back whenever it changes. */
export async function followClusterTrust(
  seams: { client: Client; clock: Clock; random: Random; logger: Logger },
  onChange: (trust: ClusterTrust) => void,
): Promise<Disposable> {
  const informer = new Informer<V1ConfigMap>({ ...seams, kind: ConfigMap, namespace, fieldSelector: `metadata.name=${name}` })
  const onConfigMap = ({ data }: V1ConfigMap) => {
    try {
      onChange(clusterTrust(data ?? {}))
    } catch (error) {
      seams.logger.error(`failed to read ConfigMap ${namespace}/${name}`, { error: String(error) })
    }
  }
  informer.addHandler({ onAdd: onConfigMap, onUpdate: onConfigMap })
  informer.start()
  await informer.synced
  if (informer.size === 0) {
    informer.stop()
    throw new Error(`there is no config map ${namespace}/${name}: is that an API server with aggregation?`)
  }
  return { [Symbol.dispose]: () => informer.stop() }
}

export function clusterTrust(data: Readonly<Record<string, string>>): ClusterTrust {
  const list = (key: string): readonly string[] => {
    const names: unknown = JSON.parse(data[`requestheader-${key}`] ?? '[]')
    if (!Array.isArray(names) || !names.every((each) => typeof each === 'string'))
      throw new Error(`requestheader-${key} of config map ${namespace}/${name} is not a list of names`)
    return names
  }
  const clientCa = data['client-ca-file'] ?? ''
  const proxyCa = data['requestheader-client-ca-file'] ?? ''
  const proxyAnchors = certificatesIn(proxyCa)
  return {
    authorities: [clientCa, proxyCa].filter((pem) => pem !== ''),
    clients: certificatesIn(clientCa),
    proxies: {
      anchors: () => proxyAnchors,
      allowedNames: list('allowed-names'),
      usernameHeaders: list('username-headers'),
      uidHeaders: list('uid-headers'),
      groupHeaders: list('group-headers'),
      extraHeaderPrefixes: list('extra-headers-prefix'),
    },
  }
}

function certificatesIn(pem: string): X509Certificate[] {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
  return blocks.map((block) => new X509Certificate(block))
}
