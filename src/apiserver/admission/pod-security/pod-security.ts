import { Namespace, Pod } from '#api/core/v1/kinds.gen.ts'
import type { V1Namespace, V1Pod } from '#api/core/v1/types.gen.ts'
import { aggregateMessages, fieldErrorText } from '#api/meta/aggregate.ts'
import type { FieldError } from '#api/meta/check.ts'
import { groupResourceText } from '#api/meta/gvk.ts'
import { forbidden, internalError } from '#api/meta/status-error.ts'
import type { AdmissionContext, AdmissionPlugin, AdmissionRequest } from '#apiserver/admission/admission.ts'
import { objectOf, oldObjectOf } from '#apiserver/admission/object-of.ts'
import { detailsText, violations } from '#apiserver/admission/pod-security/checks.ts'
import { readConfiguration } from '#apiserver/admission/pod-security/configuration.ts'
import { type LevelVersion, levelVersionText } from '#apiserver/admission/pod-security/level-version.ts'
import { isFullyPrivileged, labelPrefix, type Policy, policyOf } from '#apiserver/admission/pod-security/namespace-policy.ts'
import { validateNamespace } from '#apiserver/admission/pod-security/namespaces.ts'
import { podTemplateOf, resourcesWithTemplate } from '#apiserver/admission/pod-security/pod-templates.ts'
import { isSignificantUpdate } from '#apiserver/admission/pod-security/significant-update.ts'

const untouchedSpec = new Set(['exec', 'attach', 'binding', 'eviction', 'log', 'portforward', 'proxy', 'status'])

type Validated = { policy: Policy; errors: FieldError[] }

/** Pods keep to the standard that the labels of their namespace name: refused, recorded, or let through with a warning. */
export function podSecurity({ cluster, clock, configuration }: AdmissionContext): AdmissionPlugin {
  const { defaults, exemptions } = readConfiguration(configuration)
  const validated = new WeakMap<V1Namespace, Validated>()

  const policyFor = (namespace: V1Namespace): Validated => {
    let found = validated.get(namespace)
    if (found === undefined) {
      found = policyOf(namespace.metadata?.labels, defaults)
      validated.set(namespace, found)
    }
    return found
  }
  const audit = (request: AdmissionRequest, key: string, value: string) => request.annotateAudit(labelPrefix + key, value)

  const isExempt = (request: AdmissionRequest): boolean => {
    const reason = exemptions.namespaces.has(request.namespace) ? 'namespace' : exemptions.usernames.has(request.user.name) ? 'user' : ''
    if (reason !== '') audit(request, 'exempt', reason)
    return reason !== ''
  }

  const validatePod = (request: AdmissionRequest, namespace: V1Namespace): void => {
    const { policy, errors } = policyFor(namespace)
    if (errors.length === 0 && isFullyPrivileged(policy)) {
      audit(request, 'enforce-policy', 'privileged:latest')
      return
    }
    const pod = objectOf(Pod, request)
    if (request.operation === 'UPDATE' && !isSignificantUpdate(pod, oldObjectOf(Pod, request))) return
    evaluate(request, { policy, errors }, pod, true)
  }
  const validateTemplate = (request: AdmissionRequest, namespace: V1Namespace): void => {
    const { policy, errors } = policyFor(namespace)
    if (errors.length === 0 && policy.warn.level === 'privileged' && policy.audit.level === 'privileged') return
    const template = podTemplateOf(resourceOf(request), request.object)
    if (template !== undefined) evaluate(request, { policy, errors }, template, false)
  }

  const evaluate = (request: AdmissionRequest, { policy, errors }: Validated, pod: Pick<V1Pod, 'metadata' | 'spec'>, enforces: boolean) => {
    if (exemptions.runtimeClasses.has(pod.spec.runtimeClassName ?? '')) return audit(request, 'exempt', 'runtimeClass')
    if (errors.length > 0) audit(request, 'error', `Failed to parse policy: ${aggregateMessages(errors.map(fieldErrorText))}`)
    const known = new Map<string, string>()
    const detailsOf = (version: LevelVersion): string => {
      const text = levelVersionText(version)
      const details = known.get(text) ?? detailsText(violations(version, pod.spec, pod.metadata))
      known.set(text, details)
      return details
    }
    const sentence = (version: LevelVersion) => `violate PodSecurity "${levelVersionText(version)}": ${detailsOf(version)}`
    if (enforces) audit(request, 'enforce-policy', levelVersionText(policy.enforce))
    if (detailsOf(policy.audit) !== '') audit(request, 'audit-violations', `would ${sentence(policy.audit)}`)
    if (enforces && detailsOf(policy.enforce) !== '') {
      const { enforce } = policy
      throw forbidden(request.resource, request.name, `violates PodSecurity "${levelVersionText(enforce)}": ${detailsOf(enforce)}`)
    }
    if (detailsOf(policy.warn) !== '') request.warn(`would ${sentence(policy.warn)}`)
  }

  return {
    name: 'PodSecurity',
    operations: ['CREATE', 'UPDATE'],
    resources: ['namespaces', 'pods/*', ...resourcesWithTemplate],
    validate(request) {
      const { definition, subresource, namespace: name } = request
      if (definition.plural === 'namespaces') return validateNamespace(request, { cluster, clock, defaults, exemptions })
      if (untouchedSpec.has(subresource) || isExempt(request)) return undefined
      const isPod = definition.plural === 'pods'
      const validate = isPod ? validatePod : validateTemplate
      const namespace = cluster.get(Namespace, name)
      if (namespace !== undefined) return validate(request, namespace)
      return cluster.getFresh(Namespace, name).then((found) => {
        if (found !== undefined) return validate(request, found)
        if (isPod) throw internalError(`failed to lookup namespace "${name}"`)
        audit(request, 'error', `failed to lookup namespace "${name}": namespaces "${name}" not found`)
        return undefined
      })
    },
  }
}

const resourceOf = ({ definition }: AdmissionRequest): string => groupResourceText({ group: definition.group, resource: definition.plural })
