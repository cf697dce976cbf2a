import { Service } from '#api/core/v1/kinds.gen.ts'
import { validateClusterIpsUpdate, validateIpFamiliesUpdate } from '#api/core/v1/service/cluster-ips.ts'
import { serviceColumns } from '#api/core/v1/service/columns.ts'
import { isExternallyAccessible, needsHealthCheck } from '#api/core/v1/service/external-access.ts'
import { validateLoadBalancerStatus } from '#api/core/v1/service/load-balancer-status.ts'
import { dropFieldsOfOldType } from '#api/core/v1/service/type-changes.ts'
import { validateLoadBalancerClass, validateService } from '#api/core/v1/service/validate-service.ts'
import { serviceWarnings } from '#api/core/v1/service/warnings.ts'
import type { V1ServiceSpec } from '#api/core/v1/types.gen.ts'
import { warningsForIp } from '#api/meta/ip.ts'
import { nameIsDns1123Label } from '#api/meta/names.ts'
import { defineResource } from '#api/resource.ts'

const affinitySeconds = 10800

export const serviceResource = defineResource(Service, {
  storagePath: 'services/specs',
  nameRule: nameIsDns1123Label,
  allowCreateOnUpdate: true,
  allowUnconditionalUpdate: true,
  returnsDeletedObject: true,

  defaults(service) {
    service.spec ??= {}
    const { spec, status } = service
    defaultSessionAffinity(spec)
    spec.type ||= 'ClusterIP'
    for (const port of spec.ports ?? []) {
      port.protocol ||= 'TCP'
      port.targetPort ||= port.port
    }
    if (isExternallyAccessible(service)) spec.externalTrafficPolicy ||= 'Cluster'
    if (spec.type === 'NodePort' || spec.type === 'LoadBalancer' || spec.type === 'ClusterIP') spec.internalTrafficPolicy ??= 'Cluster'
    if (spec.type === 'LoadBalancer') {
      spec.allocateLoadBalancerNodePorts ??= true
      for (const ingress of status?.loadBalancer?.ingress ?? []) if (ingress.ip) ingress.ipMode ??= 'VIP'
    }
  },

  prepareForCreate(service) {
    service.status = { loadBalancer: {} }
    const { spec } = service
    if (spec.clusterIP && !spec.clusterIPs?.length) spec.clusterIPs = [spec.clusterIP]
  },
  validate: (_service, check) => validateService(check, undefined),
  warningsOnCreate: serviceWarnings,

  prepareForUpdate(next, prev) {
    dropFieldsOfOldType(next, prev)
  },
  validateUpdate(next, prev, check) {
    validateClusterIpsUpdate(check, prev)
    validateIpFamiliesUpdate(check, prev)
    const atClass = check.at('spec').at('loadBalancerClass')
    const areBalanced = next.spec?.type === 'LoadBalancer' && prev.spec?.type === 'LoadBalancer'
    if (areBalanced && next.spec?.loadBalancerClass !== prev.spec?.loadBalancerClass) {
      atClass.invalid('may not change once set')
    }
    validateLoadBalancerClass(next, atClass)
    if (needsHealthCheck(prev) && needsHealthCheck(next) && next.spec?.healthCheckNodePort !== prev.spec?.healthCheckNodePort) {
      check.at('spec').at('healthCheckNodePort').forbidden('field is immutable')
    }
    validateService(check, prev)
  },
  warningsOnUpdate: serviceWarnings,

  columns: serviceColumns,
  fieldSelectors: {
    'spec.clusterIP': ({ spec }) => spec?.clusterIP ?? '',
    'spec.type': ({ spec }) => spec?.type ?? '',
  },

  subresources: {
    status: {
      validateUpdate(next, prev, check) {
        const { loadBalancer = {} } = next.status ?? {}
        validateLoadBalancerStatus(
          check.at('status').at('loadBalancer').with(loadBalancer),
          prev.status?.loadBalancer ?? {},
          next.spec ?? {},
        )
      },
      warningsOnUpdate: ({ status }) =>
        (status?.loadBalancer?.ingress ?? []).flatMap(({ ip }, index) =>
          ip ? warningsForIp(`status.loadBalancer.ingress[${index}]`, ip) : [],
        ),
    },
  },
})

function defaultSessionAffinity(spec: V1ServiceSpec): void {
  spec.sessionAffinity ||= 'None'
  if (spec.sessionAffinity === 'None') delete spec.sessionAffinityConfig
  if (spec.sessionAffinity === 'ClientIP' && spec.sessionAffinityConfig?.clientIP?.timeoutSeconds === undefined) {
    spec.sessionAffinityConfig = { clientIP: { timeoutSeconds: affinitySeconds } }
  }
}
