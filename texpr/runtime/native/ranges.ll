; Are all elements of an array of $TYPE, read as $SIGN, in lo..hi? Written without an early exit, so that it is a vector loop.
define i1 @tx_range_$NAME(ptr %data, i64 %bytes, i64 %lo, i64 %hi) #0 {
entry:
  %item = ptrtoint ptr getelementptr ($TYPE, ptr null, i64 1) to i64
  %count = udiv exact i64 %bytes, %item
  %none = icmp eq i64 %count, 0
  br i1 %none, label %out, label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %good = phi i1 [ true, %entry ], [ %still, %loop ]
  %at = getelementptr $TYPE, ptr %data, i64 %i
  %element = load $TYPE, ptr %at, align 1
  %value = $EXTEND
  %above = icmp sge i64 %value, %lo
  %below = icmp slt i64 %value, %hi
  %inside = and i1 %above, %below
  %still = and i1 %good, %inside
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %count
  br i1 %more, label %loop, label %out
out:
  %result = phi i1 [ true, %entry ], [ %still, %loop ]
  ret i1 %result
}

