-- The restart guard. `key` is the node's own hash, `kept` what it has of `id`, `until`, `why`, `fit` and `logged`;
-- `now` the time in ms, `span` the quarantine in ms; `disk` what clients rely on the node's disk for: '0' nothing, else
-- to keep every vote before it is told: '1' its settings say that it does, '2' that it does not, '3' nobody has asked
-- yet; `met` the process that the client met when it connected. `looking` returns `look`
-- and `noted_wait`: functions are made when they are needed, and a look is needed once in a millisecond.

-- Why the node must not vote, nor extend, whatever it may have forgotten, or nothing; and what `kept` is then.
local function attest(key, kept, now, span, disk, met, info)
  -- Argument S9: no process dies, starts again, loads and serves within the millisecond in which it was looked at;
  -- and one that a client met under another identity is looked at in any case. A vote that has to be on the disk must
  -- not be given a moment after the log was turned off.
  if tonumber(kept[4]) ~= now or kept[1] ~= met or disk ~= '0' then
    return looking()(key, kept, now, span, disk, met, info)
  end
  return false, kept
end
-- For how many ms the node does not vote, and why; where that does not end by itself, for how many ms at most once it has
-- ended.
local function abstains(key, kept, now, span, disk, met, info)
  local unfit, found = attest(key, kept, now, span, disk, met, info)
  -- Argument S9: a node that may forget the next vote does not give it.
  if unfit then
    return tonumber(span), unfit
  end
  local ends, why = tonumber(found[2] or '0') or now + tonumber(span), found[3]
  -- A clock that was set back would make it wait for as long.
  local longest = tonumber(span)
  if ends - now > longest then
    -- The configuration before may have had a longer quarantine than ours: what its reconfiguration wrote counts.
    if why == 'reconfigured' then
      local _, noted_wait = looking()
      longest = math.max(longest, noted_wait(redis.call('HGET', key, 'wait'), ends))
    end
    ends = math.min(ends, now + longest)
    redis.call('HSET', key, 'until', string.format('%.0f', ends))
  end
  return ends - now, why
end
