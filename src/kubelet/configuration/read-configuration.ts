/** A kubelet's configuration file. */
import { jsYaml } from '#api/codec/js-yaml.ts'
import { FeatureGates } from '#api/meta/feature-gates.ts'
import { gatesWithoutEffect } from '#api/meta/gates-without-effect.ts'
import { errorMessage } from '#base/error-message.ts'
import { readComponentConfiguration } from '#client/component-configuration.ts'
import {
  defaultKubeletConfiguration,
  effectiveKubeletGates,
  ignoredFields,
  type KubeletConfiguration,
} from '#kubelet/configuration/kubelet-configuration.ts'
import { checkRates } from '#kubelet/configuration/rates.ts'
import { tlsLimitsOf } from '#kubelet/configuration/tls-limits.ts'
import { parseThresholds } from '#kubelet/eviction/thresholds.ts'
import { credentialsPolicyOf } from '#kubelet/images/credentials-policy.ts'
import { verifySysctlPatterns } from '#kubelet/node/sysctls.ts'

export type ReadConfiguration = {
  configuration: KubeletConfiguration
  /** Fields of the file that change nothing. */
  ignored: string[]
}

/** What was read makes sense as a file, but not as a configuration. */
export class InvalidKubeletConfiguration extends Error {}

/** One that is set stands for itself: what it leaves out has no threshold. */
const evictionMaps = ['evictionHard', 'evictionSoft', 'evictionSoftGracePeriod', 'evictionMinimumReclaim'] as const

const gateTexts = ({ featureGates }: KubeletConfiguration): string[] =>
  Object.entries(featureGates).map(([name, isOn]) => `${name}=${isOn}`)
const reservationPolicies = ['None', 'TieredReservation']

const policyOptions = ['cpuManagerPolicyOptions', 'topologyManagerPolicyOptions'] as const

/** YAML or JSON. Throws with what is wrong, and where. */
export async function readKubeletConfiguration(text: string, path: string): Promise<ReadConfiguration> {
  const read = await readComponentConfiguration(text, path, {
    ...{ kind: 'KubeletConfiguration', apiVersion: 'kubelet.config.k8s.io/v1beta1' },
    // How often the node tells follows how often it looks, where only that is said.
    ...{ defaults: { ...defaultKubeletConfiguration(), nodeStatusReportFrequency: '' }, ignoredFields },
    wholeMaps: [
      'staticPodURLHeader',
      'featureGates',
      'systemReserved',
      'kubeReserved',
      'authentication.x509',
      ...policyOptions,
      ...evictionMaps,
    ],
  })
  complete(read.configuration)
  check(read.configuration, path)
  const gates = gatesWithoutEffect(gateTexts(read.configuration), effectiveKubeletGates)
  return { ...read, ignored: [...read.ignored, ...gates.map((name) => `featureGates.${name}`)] }
}

/**
 * A file and those that are laid over it, one after the other: lists and values are replaced, maps are added to. Throws with what is
 * wrong, and where.
 */
export async function readKubeletConfigurations(files: readonly { text: string; path: string }[]): Promise<ReadConfiguration> {
  const [first] = files
  if (first !== undefined && files.length === 1) return readKubeletConfiguration(first.text, first.path)
  const { load } = jsYaml()
  let merged: unknown = {}
  for (const { text, path } of files) {
    // Each by itself first, so that what is wrong is told of the file it is in.
    await readKubeletConfiguration(text, path)
    merged = laidOver(merged, load(text))
  }
  return readKubeletConfiguration(JSON.stringify(merged), files.map(({ path }) => path).join(', '))
}

function laidOver(before: unknown, over: unknown): unknown {
  if (!isMap(before) || !isMap(over)) return over
  const result: Record<string, unknown> = { ...before }
  for (const [field, value] of Object.entries(over)) result[field] = laidOver(result[field], value)
  return result
}

const isMap = (value: unknown): value is Record<string, unknown> => value !== null && typeof value === 'object' && !Array.isArray(value)

/** What depends on what else was said. */
function complete(configuration: KubeletConfiguration): void {
  const usual = defaultKubeletConfiguration()
  const isUsual = configuration.nodeStatusUpdateFrequency === usual.nodeStatusUpdateFrequency
  configuration.nodeStatusReportFrequency ||= isUsual ? usual.nodeStatusReportFrequency : configuration.nodeStatusUpdateFrequency
  if (configuration.mergeDefaultEvictionSettings) configuration.evictionHard = { ...usual.evictionHard, ...configuration.evictionHard }
}

function check(configuration: KubeletConfiguration, path: string): void {
  const { port, readOnlyPort, healthzPort, maxPods, authorization } = configuration
  for (const [field, value] of Object.entries({ port, readOnlyPort, healthzPort })) {
    if (!Number.isInteger(value) || value < 0 || value > 65_535)
      throw new InvalidKubeletConfiguration(`${path}: ${field} is not a port: ${value}`)
  }
  try {
    parseThresholds(configuration)
    verifySysctlPatterns(configuration.allowedUnsafeSysctls)
    credentialsPolicyOf(configuration)
    tlsLimitsOf(configuration)
    checkRates(configuration)
    new FeatureGates(gateTexts(configuration).join(','))
  } catch (error) {
    throw new InvalidKubeletConfiguration(`${path}: ${errorMessage(error)}`)
  }
  const { memorySwap, enforceNodeAllocatable, systemReservedCgroup, kubeReservedCgroup } = configuration
  if (!['', 'NoSwap', 'LimitedSwap'].includes(memorySwap.swapBehavior)) {
    throw new InvalidKubeletConfiguration(`${path}: memorySwap.swapBehavior must be NoSwap or LimitedSwap, not ${memorySwap.swapBehavior}`)
  }
  const { memoryThrottlingFactor: factor, memoryReservationPolicy: policy, featureGates } = configuration
  if (!(factor > 0 && factor <= 1)) {
    throw new InvalidKubeletConfiguration(`${path}: memoryThrottlingFactor ${factor} must be greater than 0 and less than or equal to 1.0`)
  }
  if (!reservationPolicies.includes(policy)) {
    const valid = 'Valid options are "None" or "TieredReservation"'
    throw new InvalidKubeletConfiguration(`${path}: option "${policy}" specified for memoryReservationPolicy. ${valid}`)
  }
  if (policy !== 'None' && !featureGates['MemoryQoS']) {
    throw new InvalidKubeletConfiguration(`${path}: memoryReservationPolicy "${policy}" requires MemoryQoS feature gate to be enabled`)
  }
  for (const what of enforceNodeAllocatable) {
    if (!['pods', 'system-reserved', 'kube-reserved', 'none'].includes(what)) {
      throw new InvalidKubeletConfiguration(
        `${path}: enforceNodeAllocatable knows pods, system-reserved, kube-reserved and none, not ${what}`,
      )
    }
  }
  for (const [what, cgroup] of [
    ['system-reserved', systemReservedCgroup],
    ['kube-reserved', kubeReservedCgroup],
  ] as const) {
    if (enforceNodeAllocatable.includes(what) && cgroup === '')
      throw new InvalidKubeletConfiguration(`${path}: to enforce ${what} its cgroup must be named`)
  }
  if (maxPods < 0) throw new InvalidKubeletConfiguration(`${path}: maxPods must not be a negative number: ${maxPods}`)
  if (!['AlwaysAllow', 'Webhook'].includes(authorization.mode)) {
    throw new InvalidKubeletConfiguration(`${path}: authorization.mode must be AlwaysAllow or Webhook, not ${authorization.mode}`)
  }
}
