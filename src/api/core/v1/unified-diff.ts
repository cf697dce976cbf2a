/** Line differences as error messages show them: the longest common run first, then what lies before and after it (Ratcliff and Obershelp). */
import { asInternal } from '#api/meta/quote-internal.ts'

/** The change of an object in the form upstream quotes it: `struct` as for `asInternal`. */
export function internalDiff(struct: string, prev: unknown, next: unknown): string {
  return unifiedDiff(prettyLines(asInternal(struct, prev)), prettyLines(asInternal(struct, next)))
}

/** More than a message quotes, and few enough to be compared while others wait. */
const mostLines = 4000
const mostChars = 400_000

const prettyLines = (value: unknown): string[] =>
  JSON.stringify(value, null, 1)
    .slice(0, mostChars)
    .replace(/[<>&\u2028\u2029]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .split('\n', mostLines)

/** From `oldStart` to `oldEnd` in the old lines, and likewise in the new ones. */
type Change = { isEqual: boolean; oldStart: number; oldEnd: number; newStart: number; newEnd: number }
type Run = { oldStart: number; newStart: number; length: number }

const contextLines = 3

export function unifiedDiff(oldLines: readonly string[], newLines: readonly string[]): string {
  let text = ''
  for (const hunk of hunks(changes(oldLines, newLines))) {
    const first = hunk[0] as Change
    const last = hunk.at(-1) as Change
    text += `@@ -${range(first.oldStart, last.oldEnd)} +${range(first.newStart, last.newEnd)} @@\n`
    for (const { isEqual, oldStart, oldEnd, newStart, newEnd } of hunk) {
      if (isEqual)
        text += oldLines
          .slice(oldStart, oldEnd)
          .map((line) => ` ${line}\n`)
          .join('')
      else {
        text += oldLines
          .slice(oldStart, oldEnd)
          .map((line) => `-${line}\n`)
          .join('')
        text += newLines
          .slice(newStart, newEnd)
          .map((line) => `+${line}\n`)
          .join('')
      }
    }
  }
  return text
}

function range(start: number, end: number): string {
  const length = end - start
  if (length === 1) return String(start + 1)
  return length === 0 ? `${start},0` : `${start + 1},${length}`
}

function hunks(all: readonly Change[]): Change[][] {
  const result: Change[][] = []
  let hunk: Change[] = []
  for (const [index, change] of all.entries()) {
    const { isEqual, oldStart, oldEnd, newStart, newEnd } = change
    if (!isEqual) {
      hunk.push(change)
      continue
    }
    const length = oldEnd - oldStart
    const isLast = index === all.length - 1
    const head: Change = { ...change, oldEnd: Math.min(oldEnd, oldStart + contextLines), newEnd: Math.min(newEnd, newStart + contextLines) }
    const tail: Change = {
      ...change,
      oldStart: Math.max(oldStart, oldEnd - contextLines),
      newStart: Math.max(newStart, newEnd - contextLines),
    }
    if (index === 0) hunk.push(tail)
    else if (isLast) hunk.push(head)
    else if (length > 2 * contextLines) {
      hunk.push(head)
      result.push(hunk)
      hunk = [tail]
    } else hunk.push(change)
  }
  if (hunk.some(({ isEqual }) => !isEqual)) result.push(hunk)
  return result
}

function changes(oldLines: readonly string[], newLines: readonly string[]): Change[] {
  const found: Change[] = []
  let [oldStart, newStart] = [0, 0]
  for (const run of [...commonRuns(oldLines, newLines), { oldStart: oldLines.length, newStart: newLines.length, length: 0 }]) {
    if (oldStart < run.oldStart || newStart < run.newStart) {
      found.push({ isEqual: false, oldStart, oldEnd: run.oldStart, newStart, newEnd: run.newStart })
    }
    oldStart = run.oldStart + run.length
    newStart = run.newStart + run.length
    if (run.length > 0) found.push({ isEqual: true, oldStart: run.oldStart, oldEnd: oldStart, newStart: run.newStart, newEnd: newStart })
  }
  return found
}

function commonRuns(oldLines: readonly string[], newLines: readonly string[]): Run[] {
  const places = placesOfLines(newLines)
  const runs: Run[] = []
  const search = (oldStart: number, oldEnd: number, newStart: number, newEnd: number): void => {
    const run = longestRun(oldLines, newLines, places, oldStart, oldEnd, newStart, newEnd)
    if (run.length === 0) return
    if (oldStart < run.oldStart && newStart < run.newStart) search(oldStart, run.oldStart, newStart, run.newStart)
    const before = runs.at(-1)
    if (before && before.oldStart + before.length === run.oldStart && before.newStart + before.length === run.newStart) {
      before.length += run.length
    } else runs.push(run)
    const [oldNext, newNext] = [run.oldStart + run.length, run.newStart + run.length]
    if (oldNext < oldEnd && newNext < newEnd) search(oldNext, oldEnd, newNext, newEnd)
  }
  search(0, oldLines.length, 0, newLines.length)
  return runs
}

const longText = 200

/** Where each line stands. In long texts, lines that come all the time lead nowhere; they only make found runs longer. */
function placesOfLines(lines: readonly string[]): Map<string, number[]> {
  const places = new Map<string, number[]>()
  for (const [index, line] of lines.entries()) {
    const known = places.get(line)
    if (known === undefined) places.set(line, [index])
    else known.push(index)
  }
  if (lines.length < longText) return places
  const often = Math.floor(lines.length / 100) + 1
  for (const [line, indexes] of places) if (indexes.length > often) places.delete(line)
  return places
}

function longestRun(
  oldLines: readonly string[],
  newLines: readonly string[],
  places: ReadonlyMap<string, number[]>,
  oldFrom: number,
  oldEnd: number,
  newFrom: number,
  newEnd: number,
): Run {
  let [oldStart, newStart, length] = [oldFrom, newFrom, 0]
  // By the place in the new lines: how long a run ends there.
  let lengths = new Map<number, number>()
  for (let index = oldFrom; index < oldEnd; index++) {
    const next = new Map<number, number>()
    for (const place of places.get(oldLines[index] as string) ?? []) {
      if (place < newFrom) continue
      if (place >= newEnd) break
      const run = (lengths.get(place - 1) ?? 0) + 1
      next.set(place, run)
      if (run > length) [oldStart, newStart, length] = [index - run + 1, place - run + 1, run]
    }
    lengths = next
  }
  while (oldStart > oldFrom && newStart > newFrom && oldLines[oldStart - 1] === newLines[newStart - 1]) {
    oldStart--
    newStart--
    length++
  }
  while (oldStart + length < oldEnd && newStart + length < newEnd && oldLines[oldStart + length] === newLines[newStart + length]) length++
  return { oldStart, newStart, length }
}
