/** The controllers of a cluster in one process: they reach the API server without a socket. */

import { FeatureGates } from '#api/meta/feature-gates.ts'
import { signJwt } from '#apiserver/authn/service-account/jwt.ts'
import { inProcess } from '#apiserver/http/in-process-exchange.ts'
import { TrustedConnection } from '#apiserver/http/trusted-connection.ts'
import type { ClusterKeys } from '#apiserver/pki/cluster-keys.ts'
import type { RunningApiServer } from '#apiserver/run-api-server.ts'
import { nodeFiles } from '#base/files.ts'
import type { Stage } from '#base/lifecycle.ts'
import { Client } from '#client/client.ts'
import { inProcessTransport } from '#client/in-process-transport.ts'
import type { ClusterSeams } from '#cmd/up/cluster.ts'
import type { UpOptions } from '#cmd/up/options.ts'
import { kubernetesVersion } from '#cmd/version.ts'
import type { SigningAuthority } from '#controllers/certificates/signing-authority.ts'
import { controllers } from '#controllers/controllers.ts'
import { ControllerManager } from '#controllers/runtime/controller-manager.ts'
import type { Controller } from '#controllers/runtime/environment.ts'
import { selectControllers } from '#controllers/runtime/select-controllers.ts'
import { type ControllerSettings, defaultSettings } from '#controllers/runtime/settings.ts'

export const selectedControllers = ({ controllers: list }: UpOptions): Controller[] => selectControllers(controllers, list)

/** Resolves when all of them know the cluster. */
export async function startControllers(
  stage: Stage,
  { server }: RunningApiServer,
  options: UpOptions,
  keys: ClusterKeys,
  { clock, random, logger }: ClusterSeams,
): Promise<void> {
  const gates = new FeatureGates(options.featureGates.join(','))
  const clientOf = (name: string, groups: readonly string[]) => {
    const connection = new TrustedConnection({ name, groups, extra: {} })
    const transport = inProcessTransport(inProcess(server.handler.handle, connection))
    return new Client({ transport, userAgent: `kube-controller-manager/${kubernetesVersion}` })
  }
  const manager = new ControllerManager({
    controllers: selectedControllers(options),
    client: clientOf('system:kube-controller-manager', []),
    clientFor: async (account) =>
      clientOf(`system:serviceaccount:kube-system:${account}`, ['system:serviceaccounts', 'system:serviceaccounts:kube-system']),
    clock,
    random,
    logger: logger.with({ component: 'kube-controller-manager' }),
    settings: {
      ...defaultSettings,
      rootCa: keys.authority('ca').certificatePem,
      signToken: (claims) => signJwt(claims, keys.serviceAccountKeys.privateKey),
      signingAuthorities: signedByCluster(keys),
      nodeMonitorPeriodMs: options.nodeMonitorPeriod,
      nodeMonitorGraceMs: options.nodeMonitorGracePeriod,
      allocateNodeCidrs: true,
      clusterCidrs: options.clusterCidr,
      nodeCidrMaskSizeIpv4: options.nodeCidrMaskSizeIpv4,
      nodeCidrMaskSizeIpv6: options.nodeCidrMaskSizeIpv6,
      serviceCidrs: options.serviceClusterIpRange.split(','),
      removeDirectory: (path) => nodeFiles.remove(path),
      isEnabled: (gate) => gates.isEnabled(gate),
    },
  })
  stage.defer(() => manager.stop())
  await manager.start(stage.signal)
}

const signerNames = ['kubelet-serving', 'kube-apiserver-client-kubelet', 'kube-apiserver-client', 'legacy-unknown']

/** The cluster's own authority signs for every signer; nobody does where its key is kept elsewhere. */
function signedByCluster(keys: ClusterKeys): ControllerSettings['signingAuthorities'] {
  if (keys.authority('ca').signer === undefined) return {}
  const authority = async (): Promise<SigningAuthority> => {
    const { certificatePem, signer } = keys.authority('ca')
    if (signer === undefined) throw new Error('ca.key is not there')
    return { certificatePem, privateKey: signer.privateKey }
  }
  return Object.fromEntries(signerNames.map((name) => [`kubernetes.io/${name}`, authority]))
}
