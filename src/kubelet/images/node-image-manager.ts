import { thisMachine } from '#base/machine.ts'
import type { Client } from '#client/client.ts'
import type { KubeletConfiguration } from '#kubelet/configuration/kubelet-configuration.ts'
import {
  type CredentialProviderPaths,
  type CredentialProviderSeams,
  openCredentialProviders,
} from '#kubelet/images/credential-providers/open-credential-providers.ts'
import { credentialsPolicyOf } from '#kubelet/images/credentials-policy.ts'
import { ImageManager } from '#kubelet/images/image-manager.ts'
import { criImages } from '#kubelet/images/image-service.ts'
import { nodeCredentials } from '#kubelet/images/node-credentials.ts'
import { pullSecretsOf } from '#kubelet/images/pull-secrets.ts'
import { PulledImages } from '#kubelet/images/pulled-images.ts'
import { throttledImages } from '#kubelet/images/throttled-images.ts'
import type { CriConnection } from '#kubelet/runtimes/cri/cri-client.ts'

export type NodeImageManagerOptions = {
  cri: CriConnection
  client: Client
  configuration: KubeletConfiguration
  rootDirectory: string
  /** Programs that know credentials; absent where there are none. */
  credentialProviders?: CredentialProviderPaths
}

/** The images of a real node, got as its configuration says. */
export async function nodeImageManager(
  options: NodeImageManagerOptions,
  seams: Omit<CredentialProviderSeams, 'client'>,
): Promise<ImageManager> {
  const { cri, client, configuration, rootDirectory, credentialProviders } = options
  const { clock, files } = seams
  const { serializeImagePulls, maxParallelImagePulls, registryPullQPS: qps, registryBurst: burst } = configuration
  const providers = credentialProviders && (await openCredentialProviders(credentialProviders, { ...seams, client }))
  const directories = [rootDirectory, `${thisMachine().homeDirectory}/.docker`, '/.docker']
  return new ImageManager({
    ...{ images: throttledImages(criImages(cri), { qps, burst }, clock), secrets: pullSecretsOf(client), clock },
    maxParallelPulls: serializeImagePulls ? 1 : maxParallelImagePulls || Number.POSITIVE_INFINITY,
    pulledImages: new PulledImages(files, `${rootDirectory}/image_manager`, credentialsPolicyOf(configuration)),
    nodeCredentials: async (repository, pod) => [
      ...(await nodeCredentials(files, directories)),
      ...((await providers?.(repository, pod)) ?? []),
    ],
  })
}
