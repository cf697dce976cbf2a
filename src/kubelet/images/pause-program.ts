/** The program that holds a sandbox's namespaces: it waits, takes in orphans, and ends when asked to. As bytes of an ELF file. */

/** As Go names them. */
export type Architecture = 'amd64' | 'arm64'

const loadAddress = 0x400000
const headerBytes = 64
const programHeaderBytes = 56
const codeOffset = headerBytes + programHeaderBytes
const signals = { interrupt: 2, terminate: 15, child: 17 }
/** The kernel needs an address to return to from a handler, though ours never returns. */
const withRestorer = 0x04000000
const noZombies = 2

export function pauseProgram(architecture: Architecture): Uint8Array {
  const { machine, write } = architectures[architecture]
  // The code has the same length wherever its data lie, so a first draft tells where they will.
  const draft = write({ ignore: loadAddress, quit: loadAddress })
  const dataAddress = loadAddress + codeOffset + draft.code.length
  const { code, exitOffset } = write({ ignore: dataAddress, quit: dataAddress + 32 })
  const exitAddress = loadAddress + codeOffset + exitOffset
  const data = Buffer.concat([signalAction(1, noZombies, 0), signalAction(exitAddress, withRestorer, exitAddress)])
  return Buffer.concat([elfHeaders(machine, codeOffset + code.length + data.length), code, data])
}

type Written = { code: Buffer; exitOffset: number }
type Writer = (addresses: { ignore: number; quit: number }) => Written

const architectures: Record<Architecture, { machine: number; write: Writer }> = {
  amd64: { machine: 62, write: writeAmd64 },
  arm64: { machine: 183, write: writeArm64 },
}

/** Children's ends are ignored, which buries them; the signals to end lead to the exit. */
const actionsOf = ({ ignore, quit }: { ignore: number; quit: number }) =>
  [
    [signals.child, ignore],
    [signals.terminate, quit],
    [signals.interrupt, quit],
  ] as const

function writeAmd64(addresses: { ignore: number; quit: number }): Written {
  const bytes: number[] = []
  const put = (...each: number[]) => bytes.push(...each)
  const number = (value: number) => put(value & 0xff, (value >> 8) & 0xff, (value >> 16) & 0xff, value >>> 24)
  const syscall = () => put(0x0f, 0x05)
  const into = { eax: [0xb8], edi: [0xbf], esi: [0xbe], r10d: [0x41, 0xba] }
  const move = (register: keyof typeof into, value: number) => {
    put(...into[register])
    number(value)
  }
  for (const [signal, action] of actionsOf(addresses)) {
    move('eax', 13) // rt_sigaction
    move('edi', signal)
    move('esi', action)
    put(0x31, 0xd2) // xor edx, edx
    move('r10d', 8)
    syscall()
  }
  const loop = bytes.length
  move('eax', 34) // pause
  syscall()
  put(0xeb, (loop - bytes.length - 2) & 0xff) // jmp loop
  const exitOffset = bytes.length
  move('eax', 231) // exit_group
  put(0x31, 0xff) // xor edi, edi
  syscall()
  while (bytes.length % 8 !== 0) put(0x90)
  return { code: Buffer.from(bytes), exitOffset }
}

function writeArm64(addresses: { ignore: number; quit: number }): Written {
  const words: number[] = []
  const move = (register: number, value: number) => {
    words.push(0xd2800000 | ((value & 0xffff) << 5) | register) // movz
    words.push(0xf2a00000 | (((value >>> 16) & 0xffff) << 5) | register) // movk, lsl 16
  }
  const syscall = (number: number) => {
    move(8, number)
    words.push(0xd4000001) // svc 0
  }
  for (const [signal, action] of actionsOf(addresses)) {
    for (const [register, value] of [signal, action, 0, 8].entries()) move(register, value)
    syscall(134) // rt_sigaction
  }
  const loop = words.length
  for (let register = 0; register < 5; register++) move(register, 0)
  syscall(73) // ppoll of nothing, for ever
  words.push(0x14000000 | ((loop - words.length) & 0x3ffffff)) // b loop
  const exitOffset = words.length * 4
  move(0, 0)
  syscall(94) // exit_group
  if (words.length % 2 !== 0) words.push(0xd503201f) // nop
  const code = Buffer.alloc(words.length * 4)
  for (const [index, word] of words.entries()) code.writeUInt32LE(word >>> 0, index * 4)
  return { code, exitOffset }
}

/** Handler, flags, restorer and mask, as the kernel has them. */
function signalAction(handler: number, flags: number, restorer: number): Buffer {
  const bytes = Buffer.alloc(32)
  bytes.writeUInt32LE(handler, 0)
  bytes.writeUInt32LE(flags, 8)
  bytes.writeUInt32LE(restorer, 16)
  return bytes
}

/** An executable of one segment that is the whole file, headers included. */
function elfHeaders(machine: number, fileBytes: number): Buffer {
  const bytes = Buffer.alloc(codeOffset)
  bytes.set([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1], 0)
  bytes.writeUInt16LE(2, 16)
  bytes.writeUInt16LE(machine, 18)
  bytes.writeUInt32LE(1, 20)
  bytes.writeUInt32LE(loadAddress + codeOffset, 24)
  bytes.writeUInt32LE(headerBytes, 32)
  bytes.writeUInt16LE(headerBytes, 52)
  bytes.writeUInt16LE(programHeaderBytes, 54)
  bytes.writeUInt16LE(1, 56)
  bytes.writeUInt16LE(64, 58)
  const at = headerBytes
  bytes.writeUInt32LE(1, at)
  bytes.writeUInt32LE(5, at + 4)
  bytes.writeUInt32LE(loadAddress, at + 16)
  bytes.writeUInt32LE(loadAddress, at + 24)
  bytes.writeUInt32LE(fileBytes, at + 32)
  bytes.writeUInt32LE(fileBytes, at + 40)
  bytes.writeUInt32LE(0x10000, at + 48)
  return bytes
}
