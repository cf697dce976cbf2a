/** Colours for people: how things fare, at a glance. Scripts never see them. */
import { style } from '#cli/ui/screen.ts'

const good = new Set('Running Ready Active Bound Available Complete Completed Succeeded Approved,Issued Established True Normal'.split(' '))
const busy = new Set(
  'Pending ContainerCreating PodInitializing Terminating Released NotReady,SchedulingDisabled Ready,SchedulingDisabled SchedulingDisabled Suspended Progressing'.split(
    ' ',
  ),
)
const bad = /^(?:.*(?:Error|Err[A-Z]\w*|BackOff|Failed|OOMKilled|Evicted|Lost|NotReady|Unknown|Denied|Warning).*)$/

export function colouredWord(word: string): string {
  if (good.has(word)) return style.green(word)
  if (busy.has(word) || /^Init:\d/.test(word)) return style.yellow(word)
  return bad.test(word) ? style.red(word) : word
}

/** A printed table: headings are bold, and words that tell how an object fares have a colour. */
export function colouredTable(text: string, { hasHeadings }: { hasHeadings: boolean }): string {
  return text
    .split('\n')
    .map((line, index) =>
      index === 0 && hasHeadings ? style.bold(line) : line.replaceAll(/(?<=\s{2})[A-Z][\w,:]*(?=\s|$)/g, (word) => colouredWord(word)),
    )
    .join('\n')
}
