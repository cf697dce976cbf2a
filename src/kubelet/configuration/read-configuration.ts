/** A kubelet's configuration file. */
import { errorMessage } from '#base/error-message.ts'
import { readComponentConfiguration } from '#client/component-configuration.ts'
import { defaultKubeletConfiguration, ignoredFields, type KubeletConfiguration } from '#kubelet/configuration/kubelet-configuration.ts'
import { parseThresholds } from '#kubelet/eviction/thresholds.ts'

export type ReadConfiguration = {
  configuration: KubeletConfiguration
  /** Fields of the file that change nothing. */
  ignored: string[]
}

/** One that is set stands for itself: what it leaves out has no threshold. */
const evictionMaps = ['evictionHard', 'evictionSoft', 'evictionSoftGracePeriod', 'evictionMinimumReclaim'] as const

/** YAML or JSON. Throws with what is wrong, and where. */
export async function readKubeletConfiguration(text: string, path: string): Promise<ReadConfiguration> {
  const read = await readComponentConfiguration(text, path, {
    ...{ kind: 'KubeletConfiguration', apiVersion: 'kubelet.config.k8s.io/v1beta1' },
    ...{ defaults: defaultKubeletConfiguration(), ignoredFields },
    wholeMaps: ['staticPodURLHeader', 'systemReserved', 'kubeReserved', 'authentication.x509', ...evictionMaps],
  })
  check(read.configuration, path)
  return read
}

function check(configuration: KubeletConfiguration, path: string): void {
  const { port, readOnlyPort, healthzPort, maxPods, authorization } = configuration
  for (const [field, value] of Object.entries({ port, readOnlyPort, healthzPort })) {
    if (!Number.isInteger(value) || value < 0 || value > 65_535) throw new Error(`${path}: ${field} is not a port: ${value}`)
  }
  try {
    parseThresholds(configuration)
  } catch (error) {
    throw new Error(`${path}: ${errorMessage(error)}`)
  }
  if (maxPods < 0) throw new Error(`${path}: maxPods must not be a negative number: ${maxPods}`)
  if (!['AlwaysAllow', 'Webhook'].includes(authorization.mode)) {
    throw new Error(`${path}: authorization.mode must be AlwaysAllow or Webhook, not ${authorization.mode}`)
  }
}
