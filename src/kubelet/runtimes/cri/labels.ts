/** What a runtime keeps for us: whose a sandbox or a container is, and what we must know of it after a restart. */

import type { V1Container, V1EphemeralContainer, V1Pod } from '#api/core/v1/types.gen.ts'
import { defined } from '#base/defined.ts'
import type { SandboxPlan } from '#kubelet/runtimes/plans.ts'
import type { Labels } from '#wire/cri/cri-types.ts'

/** The names are upstream's, since other tools of a node read them. */
export const podLabel = {
  name: 'io.kubernetes.pod.name',
  namespace: 'io.kubernetes.pod.namespace',
  uid: 'io.kubernetes.pod.uid',
} as const

const containerNameLabel = 'io.kubernetes.container.name'

export const containerAnnotation = {
  restartCount: 'io.kubernetes.container.restartCount',
  terminationMessagePath: 'io.kubernetes.container.terminationMessagePath',
  terminationMessagePolicy: 'io.kubernetes.container.terminationMessagePolicy',
  terminationMessageFile: 'node.typernetes.dev/termination-message-file',
  image: 'node.typernetes.dev/image',
} as const

const sandboxPlanAnnotation = 'node.typernetes.dev/sandbox-plan'
export const userNamespaceAnnotation = 'node.typernetes.dev/user-namespace'

const ownerLabels = ({ metadata: { name = '', namespace = '', uid = '' } }: V1Pod): Labels => ({
  [podLabel.name]: name,
  [podLabel.namespace]: namespace,
  [podLabel.uid]: uid,
})

export const sandboxLabels = (pod: V1Pod): Labels => ({ ...pod.metadata.labels, ...ownerLabels(pod) })

/** The plan is needed again for each container, maybe by another process than the one that made the sandbox. */
export const sandboxAnnotations = (pod: V1Pod, plan: SandboxPlan): Labels => ({
  ...pod.metadata.annotations,
  [sandboxPlanAnnotation]: JSON.stringify(plan),
})

export function planIn(annotations: Labels): SandboxPlan | undefined {
  const text = annotations[sandboxPlanAnnotation]
  return text === undefined ? undefined : (JSON.parse(text) as SandboxPlan)
}

export const containerLabels = (pod: V1Pod, container: { name: string }): Labels => ({
  ...ownerLabels(pod),
  [containerNameLabel]: container.name,
})

export function containerAnnotations(
  pod: V1Pod,
  container: V1Container | V1EphemeralContainer,
  attempt: number,
  messageFile: string | undefined,
): Labels {
  const { deletionGracePeriodSeconds } = pod.metadata
  const { terminationGracePeriodSeconds } = pod.spec
  const { image = '' } = container
  const { terminationMessagePath = '/dev/termination-log', terminationMessagePolicy = 'File', lifecycle, ports = [] } = container
  return {
    [containerAnnotation.restartCount]: String(attempt),
    [containerAnnotation.image]: image,
    [containerAnnotation.terminationMessagePath]: terminationMessagePath,
    [containerAnnotation.terminationMessagePolicy]: terminationMessagePolicy,
    ...defined({ [containerAnnotation.terminationMessageFile]: messageFile }),
    ...numbered('io.kubernetes.pod.deletionGracePeriod', deletionGracePeriodSeconds),
    ...numbered('io.kubernetes.pod.terminationGracePeriod', terminationGracePeriodSeconds),
    ...defined({
      'io.kubernetes.container.preStopHandler': lifecycle?.preStop && JSON.stringify(lifecycle.preStop),
      'io.kubernetes.container.ports': ports.length > 0 ? JSON.stringify(ports) : undefined,
    }),
  }
}

function numbered(name: string, value: number | null | undefined): Labels {
  return typeof value === 'number' ? { [name]: String(value) } : {}
}

export const containerNameIn = (labels: Labels): string | undefined => labels[containerNameLabel]
