import { podLabel } from '#kubelet/runtimes/cri/labels.ts'

/** By pod, a text of its sandboxes and containers with the state that each is in. */
export function podStates(
  ...lists: readonly (readonly { id: string; state: number; labels: Readonly<Record<string, string>> }[])[]
): Map<string, string> {
  const states = new Map<string, string[]>()
  for (const { id, state, labels } of lists.flat()) {
    const podUid = labels[podLabel.uid]
    if (podUid === undefined) continue
    const known = states.get(podUid)
    if (known === undefined) states.set(podUid, [`${id}=${state}`])
    else known.push(`${id}=${state}`)
  }
  return new Map([...states].map(([podUid, each]) => [podUid, each.sort().join()]))
}
