/** The command lines that are compared, in chapters: the lines of a chapter build on each other, each side in a namespace of its own. */

import { applying } from './applying-lines.ts'
import { changing } from './changing-lines.ts'
import { completing } from './completing-lines.ts'
import { configuring } from './configuring-lines.ts'
import { conversing } from './conversing-lines.ts'
import { creating } from './creating-lines.ts'
import { debugged, debugging } from './debugging-lines.ts'
import { deleting } from './deleting-lines.ts'
import { describing } from './describing-lines.ts'
import { described, describingMore } from './describing-more-lines.ts'
import { editing, editors } from './editing-lines.ts'
import { kustomizations } from './kustomizations.ts'
import { kustomizing, overlaying } from './kustomizing-lines.ts'
import { looking } from './looking-lines.ts'
import { managed, managing } from './managing-lines.ts'
import { manifests } from './manifests.ts'
import { marking } from './marking-lines.ts'
import { mistyping, templated, templating } from './odd-lines.ts'
import { overlays } from './overlays.ts'
import { reading } from './reading-lines.ts'
import { refusing } from './refusing-lines.ts'
import { rolling } from './rolling-lines.ts'
import { usage } from './usage-lines.ts'
import { waiting } from './waiting-lines.ts'

export type Line = {
  /** What follows `kubectl`; `{ns}` is the namespace, `{dir}` the directory of the manifests, `{own}` one that each side has to itself. */
  run: string
  /** Variables that are set for it. */
  environment?: Readonly<Record<string, string>>
  input?: string
  /** The first minor version that does it this way. */
  since?: number
  /** Its requests are not compared. */
  readsOnly?: boolean
  /** Its lines may come in any order: shells sort them. */
  isUnordered?: boolean
}

export type Chapter = {
  name: string
  lines: readonly Line[]
  /** Compared only where a kubectl is named, by hand: it takes long. */
  byHand?: boolean
  /** What its lines do takes time to show: before each, both sides are waited for. */
  isSettled?: boolean
}

/** Each text line is a command line; `36| …` holds from 1.36 on. Words such as `NAME=value` before it are variables. */
export function linesOf(text: string): Line[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => {
      const since = /^(\d\d)\| /.exec(line)?.[1]
      return { ...lineOf(since === undefined ? line : line.slice(4)), ...(since === undefined ? {} : { since: Number(since) }) }
    })
}

function lineOf(text: string): Line {
  const environment: Record<string, string> = {}
  let run = text
  for (let match = /^([A-Z_]+)=(\S*) /.exec(run); match !== null; match = /^([A-Z_]+)=(\S*) /.exec(run)) {
    environment[match[1] ?? ''] = match[2] ?? ''
    run = run.slice(match[0].length)
  }
  return { run, ...(Object.keys(environment).length > 0 ? { environment } : {}) }
}

/** Files that the lines speak of, by their path. */
export const files: Readonly<Record<string, string>> = {
  ...manifests,
  ...kustomizations,
  ...overlays,
  ...editors,
  ...debugged,
  ...managed,
  ...described,
  ...templated,
}

export const chapters: readonly Chapter[] = [
  usage,
  creating,
  reading,
  applying,
  changing,
  looking,
  describing,
  kustomizing,
  overlaying,
  completing,
  configuring,
  editing,
  rolling,
  debugging,
  managing,
  describingMore,
  mistyping,
  templating,
  refusing,
  waiting,
  marking,
  deleting,
  conversing,
]
