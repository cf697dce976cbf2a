/**
 * SQLite's write-ahead log, read to find out where it is damaged. SQLite itself ends at the first frame whose checksum is wrong: a kill
 * leaves such a frame at the end, and a bad disk anywhere.
 *
 *     header (32)   magic, format, page size, sequence, salt 1, salt 2, checksum 1, 2
 *     frames        page, size of the file after a commit or 0, salt 1, salt 2, checksum 1, 2 (24), then the page itself
 *
 * A frame's checksum goes on from that of the frame before it, so those after a bad one can still be told from garbage.
 */

const headerBytes = 32
const frameHeaderBytes = 24
/** Its last bit says in which order of bytes checksums are made. */
const magic = 0x377f0682

export type LogFault = {
  /** What is wrong, and where. */
  detail: string
  /** Behind it are commits that SQLite had synced: it is not what a kill or a power cut leaves. */
  isCertain: boolean
}

/** Undefined where the log is whole. */
export function logFault(log: Uint8Array): LogFault | undefined {
  const bytes = Buffer.from(log.buffer, log.byteOffset, log.byteLength)
  if (bytes.length < headerBytes) return bytes.length === 0 ? undefined : { detail: 'its header is cut off', isCertain: false }
  const sums = headerSums(bytes)
  if (sums === undefined) return { detail: 'the checksum of its header is wrong', isCertain: false }
  return firstFault(bytes, sums)
}

type Sums = { one: number; two: number }

function headerSums(bytes: Buffer): Sums | undefined {
  const first = bytes.readUInt32BE(0)
  if ((first & 0xfffffffe) >>> 0 !== magic) return undefined
  const sums = sumsAfter({ one: 0, two: 0 }, bytes, 0, 24)
  return sums.one === bytes.readUInt32BE(24) && sums.two === bytes.readUInt32BE(28) ? sums : undefined
}

/** In the order of bytes that the log's header names. */
function sumsAfter({ one, two }: Sums, bytes: Buffer, start: number, length: number): Sums {
  const isBigEndian = (bytes.readUInt32BE(0) & 1) === 1
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let [first, second] = [one, two]
  for (let at = start; at < start + length; at += 8) {
    first = (first + view.getUint32(at, !isBigEndian) + second) | 0
    second = (second + view.getUint32(at + 4, !isBigEndian) + first) | 0
  }
  return { one: first >>> 0, two: second >>> 0 }
}

function firstFault(bytes: Buffer, header: Sums): LogFault | undefined {
  const pageBytes = bytes.readUInt32BE(8)
  const frameBytes = frameHeaderBytes + pageBytes
  const count = Math.floor((bytes.length - headerBytes) / frameBytes)
  const at = (index: number) => headerBytes + index * frameBytes
  // What is left of an earlier round of the log has other salts.
  const isOfThisRound = (index: number) => bytes.compare(bytes, 16, 24, at(index) + 8, at(index) + 16) === 0
  const isSound = (index: number, before: Sums) => {
    const own = storedSums(bytes, at(index))
    const head = sumsAfter(before, bytes, at(index), 8)
    const { one, two } = sumsAfter(head, bytes, at(index) + frameHeaderBytes, pageBytes)
    return one === own.one && two === own.two
  }
  let before = header
  for (let index = 0; index < count; index++) {
    if (!isOfThisRound(index) || !isSound(index, before)) {
      const later = laterCommits(index)
      if (!isOfThisRound(index) && later === 0) return undefined
      const detail = `the checksum of frame ${index + 1} of ${count} (at byte ${at(index)}) is wrong`
      return later > 0 ? { detail: `${detail}, and ${later} commits behind it are sound`, isCertain: true } : { detail, isCertain: false }
    }
    before = storedSums(bytes, at(index))
  }
  return undefined

  /**
   * Sound commits after the one that the bad frame belongs to: each was begun when those before it had been synced. A power cut can only
   * leave a gap in the last.
   */
  function laterCommits(bad: number): number {
    let commits = 0
    for (let index = bad + 1; index < count; index++) {
      if (!isOfThisRound(index) || !isSound(index, storedSums(bytes, at(index - 1)))) continue
      if (bytes.readUInt32BE(at(index) + 4) !== 0) commits++
    }
    return Math.max(0, commits - (isOfThisRound(bad) && isCommit(bad) ? 0 : 1))
  }

  function isCommit(index: number): boolean {
    return bytes.readUInt32BE(at(index) + 4) !== 0
  }
}

function storedSums(bytes: Buffer, frame: number): Sums {
  return { one: bytes.readUInt32BE(frame + 16), two: bytes.readUInt32BE(frame + 20) }
}
