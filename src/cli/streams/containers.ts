/** Which container of a pod is meant. */
import type { V1Container, V1Pod } from '#api/core/v1/types.gen.ts'
import type { Call } from '#cli/call.ts'
import { CliError } from '#cli/cli-error.ts'

export const allContainers = ({ spec }: V1Pod): V1Container[] => [
  ...(spec?.initContainers ?? []),
  ...(spec?.containers ?? []),
  ...((spec?.ephemeralContainers ?? []) as V1Container[]),
]

/** `a, b, debugger (ephem), setup (init)` */
const containerNames = ({ spec }: V1Pod): string =>
  [
    ...(spec?.containers ?? []).map(({ name }) => name),
    ...(spec?.ephemeralContainers ?? []).map(({ name }) => `${name} (ephem)`),
    ...(spec?.initContainers ?? []).map(({ name }) => `${name} (init)`),
  ].join(', ')

/** The one that was named, else the annotated one, else the first, with a word about it where there are several. */
export function meantContainer(
  { host }: Call,
  pod: V1Pod,
  named: string,
  { isQuiet = false, needsAnnotated = false }: { isQuiet?: boolean; needsAnnotated?: boolean } = {},
): string {
  const isThere = (wanted: string) => allContainers(pod).some(({ name }) => name === wanted)
  const annotated = pod.metadata?.annotations?.['kubectl.kubernetes.io/default-container'] ?? ''
  const wanted = named || (needsAnnotated || isThere(annotated) ? annotated : '')
  if (named === '' && annotated !== '' && wanted === '')
    host.complain(`Default container name ${JSON.stringify(annotated)} not found in pod ${pod.metadata?.name}\n`)
  if (wanted !== '') {
    if (!isThere(wanted))
      throw new CliError(`container ${wanted} is not valid for pod ${pod.metadata?.name} out of: ${containerNames(pod)}`)
    return wanted
  }
  const first = pod.spec?.containers[0]?.name ?? ''
  if (allContainers(pod).length > 1 && !isQuiet)
    host.complain(`Defaulted container ${JSON.stringify(first)} out of: ${containerNames(pod)}\n`)
  return first
}
