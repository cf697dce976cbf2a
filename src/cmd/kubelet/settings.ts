import type { V1Taint } from '#api/core/v1/types.gen.ts'
import { defined } from '#base/defined.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import type { OptionValues } from '#base/options.ts'
import type { kubeletOptions } from '#cmd/kubelet/command.ts'
import { defaultKubeletConfiguration, type KubeletConfiguration } from '#kubelet/configuration/kubelet-configuration.ts'

type Options = OptionValues<typeof kubeletOptions>

/** Flags go before the file, where they are given. */
export function withFlags(
  configuration: KubeletConfiguration = defaultKubeletConfiguration(),
  options: Options,
  wasGiven: (key: string) => boolean,
): KubeletConfiguration {
  const flags: { [Field in keyof KubeletConfiguration]?: readonly [flag: keyof Options, value: KubeletConfiguration[Field]] } = {
    registerNode: ['registerNode', options.registerNode],
    registerWithTaints: ['registerWithTaints', options.registerWithTaints.map(parseTaint)],
    providerID: ['providerId', options.providerId],
    rotateCertificates: ['rotateCertificates', options.rotateCertificates],
    containerRuntimeEndpoint: ['containerRuntimeEndpoint', options.containerRuntimeEndpoint],
    staticPodPath: ['podManifestPath', options.podManifestPath],
    staticPodURL: ['manifestUrl', options.manifestUrl],
    clusterDNS: ['clusterDns', [...options.clusterDns]],
    clusterDomain: ['clusterDomain', options.clusterDomain],
    resolvConf: ['resolvConf', options.resolvConf],
    maxPods: ['maxPods', options.maxPods],
    address: ['address', options.address],
    port: ['port', options.port],
    readOnlyPort: ['readOnlyPort', options.readOnlyPort],
    healthzPort: ['healthzPort', options.healthzPort],
    tlsCertFile: ['tlsCertFile', options.tlsCertFile],
    tlsPrivateKeyFile: ['tlsPrivateKeyFile', options.tlsPrivateKeyFile],
    cgroupRoot: ['cgroupRoot', options.cgroupRoot],
    seccompDefault: ['seccompDefault', options.seccompDefault],
    failSwapOn: ['failSwapOn', options.failSwapOn],
    runOnce: ['runonce', options.runonce],
  }
  const given = Object.entries(flags).filter(([, [flag]]) => wasGiven(flag))
  const { authentication, authorization } = configuration
  return {
    ...configuration,
    ...(Object.fromEntries(given.map(([field, [, value]]) => [field, value])) as Partial<KubeletConfiguration>),
    authentication: {
      x509: wasGiven('clientCaFile') ? { clientCAFile: options.clientCaFile } : authentication.x509,
      webhook: {
        ...authentication.webhook,
        ...defined({ enabled: wasGiven('authenticationTokenWebhook') ? options.authenticationTokenWebhook : undefined }),
      },
      anonymous: wasGiven('anonymousAuth') ? { enabled: options.anonymousAuth } : authentication.anonymous,
    },
    authorization: {
      ...authorization,
      ...defined({
        mode: wasGiven('authorizationMode') ? (options.authorizationMode as KubeletConfiguration['authorization']['mode']) : undefined,
      }),
    },
  }
}

/** `key=value:effect` or `key:effect`. */
function parseTaint(text: string): V1Taint {
  const [, key = '', value, effect = ''] = /^([^=:]+)(?:=([^:]*))?:(NoSchedule|PreferNoSchedule|NoExecute)$/.exec(text) ?? []
  if (key === '') throw new Error(`--register-with-taints: ${text} is not a valid taint such as key=value:NoSchedule`)
  return { key, ...omitEmpty({ value }), effect }
}

export function parseLabels(pairs: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    pairs.map((pair) => {
      const at = pair.indexOf('=')
      if (at < 1) throw new Error(`--node-labels: ${pair} is not a valid label such as disk=ssd`)
      return [pair.slice(0, at), pair.slice(at + 1)]
    }),
  )
}
